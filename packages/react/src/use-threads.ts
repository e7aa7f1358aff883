import { ColloquyError } from "@colloquy/client";
import { useMemo, useSyncExternalStore } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";
import { NO_THREADS, type ThreadsState } from "./thread-list.ts";

export interface Threads extends ThreadsState {
  /** Fetches the list again. Failures go to `error`. */
  readonly refresh: () => Promise<void>;
  /** Fetches the next page, if there is one. */
  readonly loadMore: () => Promise<void>;
  /** 1 to 200 characters. Throws if the service refuses. */
  readonly rename: (id: string, title: string) => Promise<void>;
  /** Deletes the session with its messages, permanently. Throws if the service refuses. */
  readonly remove: (id: string) => Promise<void>;
}

/**
 * Returns the thread list: the wallet's if the provider has one, else the stored one. It follows messages,
 * renames and deletions below the provider, and renames of shown sessions by anybody. The same object until
 * something changes.
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

/** Ignores "not found": the session has expired or was deleted elsewhere. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof ColloquyError) || error.status !== 404) throw error;
}
