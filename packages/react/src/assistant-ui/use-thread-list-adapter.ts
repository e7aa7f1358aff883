import type { ExternalStoreThreadListAdapter } from "@assistant-ui/react";
import type { ColloquyError } from "@colloquy/client";
import { useMemo } from "react";
import { useColloquy } from "../colloquy-provider.tsx";
import { isPinned } from "../thread-entries.ts";
import { useThreads } from "../use-threads.ts";
import { useLatest } from "../use-latest.ts";

/**
 * Returns assistant-ui's adapter of the thread list. `show` switches to another session. assistant-ui has no
 * pins, so a thread's `custom` metadata is `{ pinned }`, and updating it pins or unpins.
 */
export function useThreadListAdapter(
  current: string,
  show: (id: string) => void,
  report: (error: ColloquyError | Error) => void,
): ExternalStoreThreadListAdapter {
  const { client } = useColloquy();
  // The list has ids in lower case.
  const threadId = current.toLowerCase();
  const latest = useLatest(threadId);
  const { threads, isLoading, rename, pin, unpin, remove } = useThreads();
  const shown = useMemo(
    () =>
      threads.map((thread) => ({
        id: thread.session_id,
        title: thread.title,
        status: "regular" as const,
        custom: { pinned: isPinned(thread) },
      })),
    [threads],
  );
  return useMemo(() => {
    const showNew = (): void => show(client.session().id);
    const reported = async (work: Promise<void>): Promise<void> =>
      work.catch((error: ColloquyError | Error) => {
        report(error);
        throw error;
      });
    return {
      threadId,
      threads: shown,
      isLoading,
      onSwitchToNewThread: showNew,
      onSwitchToThread: show,
      onRename: (id, title) => reported(rename(id, title)),
      onUpdateCustom: (id, custom) => reported((custom?.["pinned"] === true ? pin : unpin)(id)),
      onDelete: async (id) => {
        await reported(remove(id));
        // The user may have switched to another thread in the meantime.
        if (id.toLowerCase() === latest.current) showNew();
      },
    };
  }, [client, threadId, latest, shown, isLoading, rename, pin, unpin, remove, show, report]);
}
