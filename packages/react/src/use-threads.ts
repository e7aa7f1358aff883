import { ColloquyError, type Thread } from "@colloquy/client";
import { useMemo, useSyncExternalStore } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";
import { isPinned, type ThreadEntry } from "./thread-entries.ts";
import { NO_THREADS, type ThreadList, type ThreadsState } from "./thread-list.ts";

export interface Threads extends ThreadsState {
  /** Fetches the list again. Failures go to `error`. */
  readonly refresh: () => Promise<void>;
  /** Fetches the next page, if there is one. */
  readonly loadMore: () => Promise<void>;
  /** Renames a thread; the title has 1 to 200 characters. Throws if the service refuses. */
  readonly rename: (id: string, title: string) => Promise<void>;
  /** Merges `patch` into the metadata of a thread (RFC 7396): `null` removes a member, or everything. Throws if the service refuses. */
  readonly changeMetadata: (id: string, patch: Thread["metadata"] | null) => Promise<void>;
  /** Moves the thread to the top of the list at once. Moves it back and throws if the service refuses. */
  readonly pin: (id: string) => Promise<void>;
  /** Reverses `pin`, with the same failure behaviour. */
  readonly unpin: (id: string) => Promise<void>;
  /**
   * Copies the thread's finished turns into a new thread, which it adds to the list and returns; with `through`,
   * the copy ends with that message's turn. Throws if the service refuses.
   */
  readonly fork: (id: string, options?: { readonly through?: string }) => Promise<ThreadEntry>;
  /** Deletes the session with its messages, permanently. Throws if the service refuses. */
  readonly remove: (id: string) => Promise<void>;
}

/**
 * Returns the thread list: the wallet's if the provider has one, or else the stored one. The list follows
 * messages, renames, pins and deletions below the provider, and renames of shown sessions by other clients. Returns
 * the same object until something changes.
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
      changeMetadata: async (id, patch) => {
        list.put(await client.changeMetadata(id, patch));
      },
      pin: (id) => setPinned(list, id, true, () => client.pinThread(id)),
      unpin: (id) => setPinned(list, id, false, () => client.unpinThread(id)),
      fork: async (id, options) => {
        const copy = await client.forkThread(id, options);
        list.put(copy);
        return copy;
      },
      remove: async (id) => {
        await pool.session(id).delete().catch(ignoreNotFound);
        list.drop(id);
      },
    }),
    [state, client, pool, list],
  );
}

/**
 * Sets `pinned` in the list before the request and again after it, because a fetch in between may have read
 * the old state.
 */
async function setPinned(
  list: ThreadList,
  id: string,
  pinned: boolean,
  send: () => Promise<unknown>,
): Promise<void> {
  const find = (): ThreadEntry | undefined =>
    list.getState().threads.find(({ session_id }) => session_id === id);
  const mark = (value: boolean): void => {
    const entry = find();
    if (entry !== undefined) list.put({ ...entry, pinned: value });
  };
  const before = find();
  mark(pinned);
  try {
    await send();
    mark(pinned);
  } catch (error) {
    if (before !== undefined) mark(isPinned(before));
    throw error;
  }
}

/** Ignores the service's "not found": the session expired or was deleted elsewhere. A proxy's 404 deletes nothing. */
function ignoreNotFound(error: unknown): void {
  const isGone = error instanceof ColloquyError && error.status === 404 && error.code !== "http_error";
  if (!isGone) throw error;
}
