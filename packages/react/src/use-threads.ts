import { ColloquyError } from "@colloquy/client";
import { useMemo, useSyncExternalStore } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";
import { NO_THREADS, type ThreadsState } from "./thread-list.ts";

export interface Threads extends ThreadsState {
  /** Asks the service again for what is shown. That it fails stands in `error`. */
  readonly refresh: () => Promise<void>;
  /** The next page, where there is one. */
  readonly loadMore: () => Promise<void>;
  /** 1 to 200 characters. Throws what the service refuses. */
  readonly rename: (id: string, title: string) => Promise<void>;
  /** Removes the conversation with its messages, for good. Throws what the service refuses. */
  readonly remove: (id: string) => Promise<void>;
}

/**
 * The list of conversations: the wallet's where the provider has one, else those that its storage remembers. It follows what is said, named
 * and removed below the provider, and renames of sessions that are shown, whoever made them. The same object until something changes.
 */
export function useThreads(): Threads {
  const { client, pool, list } = useColloquyContext();
  const state = useSyncExternalStore(list.subscribe, list.getState, () => NO_THREADS);
  return useMemo(
    () => ({
      ...state,
      refresh: list.refresh,
      loadMore: list.loadMore,
      rename: async (id, title) => {
        list.put(await client.renameThread(id, title));
      },
      remove: async (id) => {
        await pool.session(id).delete().catch(ignoreGone);
        list.drop(id);
      },
    }),
    [state, client, pool, list],
  );
}

/** It has expired, or somebody else was faster: what was wanted is so. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof ColloquyError) || error.status !== 404) throw error;
}
