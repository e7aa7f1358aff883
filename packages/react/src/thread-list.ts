// The list of conversations below a provider: the page's own where there is no wallet, else those that the service has of the wallet.

import type { ColloquyError } from "@colloquy/client";
import type { SessionObserver } from "./session-pool.ts";
import { withThread, withoutThread, type ThreadEntry } from "./thread-entries.ts";
import type { ThreadStorage } from "./thread-storage.ts";

export interface ThreadsState {
  /** Newest activity first. */
  readonly threads: readonly ThreadEntry[];
  readonly isLoading: boolean;
  /** Why the list could not be fetched; what is known of it stands all the same. */
  readonly error: ColloquyError | null;
  /** Whether the service has more of them. */
  readonly hasMore: boolean;
}

export const NO_THREADS: ThreadsState = { threads: [], isLoading: false, error: null, hasMore: false };

export interface ThreadList {
  /** The same object until something changes. */
  readonly getState: () => ThreadsState;
  readonly subscribe: (listener: () => void) => () => void;
  /** Fetches what is shown again. */
  readonly refresh: () => Promise<void>;
  readonly loadMore: () => Promise<void>;
  /** To hear of the sessions that the page shows. */
  readonly notice: SessionObserver;
  readonly put: (entry: ThreadEntry) => void;
  readonly drop: (id: string) => void;
}

/** The conversations that the page itself remembers. One comes to it with its first message. */
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
    notice: ({ id, title, newest, isDeleted }) => {
      if (isDeleted) drop(id);
      else if (newest !== null) put({ session_id: id, title, updated_at: newest.created_at });
    },
    put,
    drop,
  };
}
