import { ColloquyError, type Client } from "@colloquy/client";
import type { SessionObserver } from "./session-pool.ts";
import { renewed, withThread, withoutThread, type ThreadEntry } from "./thread-entries.ts";
import { NO_THREADS, type ThreadList, type ThreadsState } from "./thread-list.ts";

/** What the service gives at once at most. */
const LONGEST_PAGE = 200;

export interface WalletThreadsOptions {
  readonly client: Client;
  readonly publicKey: string;
  /** How many more come with each page, 1 to 200. */
  readonly pageSize: number;
}

/**
 * The conversations that the service has of a wallet. They are fetched when somebody shows them, and again when something is said in one here;
 * what is named or removed here changes what is known. One request at a time, so that an older answer never comes after a newer one, and an
 * answer that was on its way during such a change is thrown away.
 */
export class WalletThreadList implements ThreadList {
  readonly #options: WalletThreadsOptions;
  readonly #listeners = new Set<() => void>();
  #state: ThreadsState = { ...NO_THREADS, isLoading: true };
  #next: string | null = null;
  #work: Promise<void> = Promise.resolve();
  #refresh: Promise<void> | null = null;
  #hasBegun = false;
  /** Counts what was named or removed here. */
  #changes = 0;

  constructor(options: WalletThreadsOptions) {
    this.#options = options;
  }

  readonly getState = (): ThreadsState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    const own = (): void => listener();
    this.#listeners.add(own);
    if (!this.#hasBegun) void this.refresh();
    return () => void this.#listeners.delete(own);
  };

  /** Those who ask while one has not begun yet get the same. */
  readonly refresh = (): Promise<void> => {
    this.#hasBegun = true;
    this.#refresh ??= this.#after(() => {
      this.#refresh = null;
      return this.#renew(Math.max(this.#options.pageSize, this.#state.threads.length));
    });
    return this.#refresh;
  };

  readonly loadMore = (): Promise<void> =>
    this.#after(async () => {
      if (this.#next === null) return;
      const { client, publicKey, pageSize } = this.#options;
      const changes = this.#changes;
      const wanted = this.#state.threads.length + pageSize;
      const page = await client.listThreads(publicKey, { limit: pageSize, cursor: this.#next });
      if (changes !== this.#changes) return await this.#renew(wanted);
      const known = new Set(this.#state.threads.map(({ session_id }) => session_id));
      const more = page.threads.filter(({ session_id }) => !known.has(session_id));
      this.#learn([...this.#state.threads, ...more], page.next);
    });

  readonly notice: SessionObserver = ({ id, title, newest, isDeleted }, before) => {
    if (isDeleted) return this.drop(id);
    const entry = this.#state.threads.find(({ session_id }) => session_id === id);
    if (entry !== undefined) this.put({ ...entry, title });
    // Something was said, or a conversation is new: the service knows its place in the list.
    if (this.#hasBegun && before !== null && before.newest?.id !== newest?.id) void this.refresh();
  };

  readonly put = (entry: ThreadEntry): void => {
    this.#changes += 1;
    this.#set({ threads: withThread(this.#state.threads, entry) });
  };

  readonly drop = (id: string): void => {
    this.#changes += 1;
    this.#set({ threads: withoutThread(this.#state.threads, id) });
  };

  /** Fetches so many from the top. */
  async #renew(wanted: number): Promise<void> {
    let changes: number;
    let fetched: { readonly threads: readonly ThreadEntry[]; readonly next: string | null };
    do {
      changes = this.#changes;
      fetched = await this.#fetch(wanted);
    } while (changes !== this.#changes);
    this.#learn(fetched.threads, fetched.next);
  }

  async #fetch(
    wanted: number,
  ): Promise<{ readonly threads: readonly ThreadEntry[]; readonly next: string | null }> {
    const { client, publicKey } = this.#options;
    const threads: ThreadEntry[] = [];
    let cursor: string | null = null;
    do {
      const limit = Math.min(LONGEST_PAGE, wanted - threads.length);
      const page: Awaited<ReturnType<Client["listThreads"]>> = await client.listThreads(publicKey, {
        limit,
        ...(cursor !== null && { cursor }),
      });
      threads.push(...page.threads);
      cursor = page.next;
    } while (cursor !== null && threads.length < wanted);
    return { threads, next: cursor };
  }

  #learn(threads: readonly ThreadEntry[], next: string | null): void {
    this.#next = next;
    const known = renewed(this.#state.threads, threads);
    this.#set({ threads: known, isLoading: false, error: null, hasMore: next !== null });
  }

  /** Does it when what was asked before is done. That it fails stands in the state. */
  #after(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(async () => {
      this.#set({ isLoading: true });
      try {
        await work();
      } catch (error) {
        this.#set({ isLoading: false, error: asError(error) });
      }
      this.#set({ isLoading: false });
    });
    this.#work = done;
    return done;
  }

  #set(changed: Partial<ThreadsState>): void {
    const state = { ...this.#state, ...changed };
    const { threads, isLoading, error, hasMore } = this.#state;
    const isSame =
      state.threads === threads &&
      state.isLoading === isLoading &&
      state.error === error &&
      state.hasMore === hasMore;
    if (isSame) return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

function asError(error: unknown): ColloquyError {
  if (error instanceof ColloquyError) return error;
  return new ColloquyError("The list of threads could not be read.", {
    code: "answer_invalid",
    cause: error,
  });
}
