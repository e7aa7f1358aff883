// The thread list of a provider: fetched for the wallet, or stored by the page if there is none.

import type { ColloquyError } from "@colloquy/client";
import type { SessionObserver } from "./session-pool.ts";
import { withThread, withoutThread, type ThreadEntry } from "./thread-entries.ts";
import type { ThreadStorage } from "./thread-storage.ts";

export interface ThreadsState {
  /** Pinned threads first, then the most recently active. */
  readonly threads: readonly ThreadEntry[];
  readonly isLoading: boolean;
  /** Why the last fetch failed; `threads` then keeps its value. */
  readonly error: ColloquyError | null;
  /** True if the service has more threads. */
  readonly hasMore: boolean;
}

export const NO_THREADS: ThreadsState = { threads: [], isLoading: false, error: null, hasMore: false };

export interface ThreadList {
  /** The same object until something changes. */
  readonly getState: () => ThreadsState;
  readonly subscribe: (listener: () => void) => () => void;
  /** Fetches the list again. */
  readonly refresh: () => Promise<void>;
  readonly loadMore: () => Promise<void>;
  /** Receives changes of the sessions that the page shows. */
  readonly onSummary: SessionObserver;
  readonly put: (entry: ThreadEntry) => void;
  readonly drop: (id: string) => void;
}

/** The page's own list. A session enters it with its first message. */
export function storedThreadList(storage: ThreadStorage): ThreadList {
  let state = NO_THREADS;
  const drop = (id: string): void => storage.update((threads) => withoutThread(threads, id));
  const put = (entry: ThreadEntry): void => storage.update((threads) => withThread(threads, entry));
  const done = async (): Promise<void> => undefined;
  return {
    getState: () => {
      const threads = storage.read();
      if (state.threads !== threads) state = { ...NO_THREADS, threads };
      return state;
    },
    subscribe: (listener) => storage.subscribe(listener),
    refresh: done,
    loadMore: done,
    onSummary: ({ id, title, newest, isDeleted }) => {
      if (isDeleted) drop(id);
      else if (newest !== null) {
        const known = storage.read().find(({ session_id }) => session_id === id);
        put({ ...known, session_id: id, title, updated_at: newest.created_at });
      }
    },
    put,
    drop,
  };
}
