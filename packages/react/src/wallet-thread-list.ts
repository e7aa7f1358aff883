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
  #isTopAsked = false;
  /** Counts what was named or removed here, so that an answer that does not know of it is seen to be old. */
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
      return this.#renewAll();
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
    if (this.#hasBegun && before !== null && before.newest?.id !== newest?.id) this.#refreshTop();
  };

  readonly put = (entry: ThreadEntry): void => {
    const threads = withThread(this.#state.threads, entry);
    // An answer on its way is as good as before where nothing is new.
    if (threads === this.#state.threads) return;
    this.#changes += 1;
    this.#set({ threads });
  };

  readonly drop = (id: string): void => {
    // Also where it does not stand in the list yet: it may be in an answer on its way.
    this.#changes += 1;
    this.#set({ threads: withoutThread(this.#state.threads, id) });
  };

  /** Once for all who ask while it has not begun yet; not at all where everything is about to be fetched. */
  #refreshTop(): void {
    if (this.#refresh !== null || this.#isTopAsked) return;
    this.#isTopAsked = true;
    void this.#after(() => {
      this.#isTopAsked = false;
      return this.#renewTop();
    });
  }

  /**
   * Fetches one page from the top. However much is known below it, for instance since somebody has searched, that stays: what is new in a list
   * comes to its top.
   */
  async #renewTop(): Promise<void> {
    const { pageSize } = this.#options;
    if (this.#state.threads.length <= pageSize) return await this.#renewAll();
    const changes = this.#changes;
    const { threads, next } = await this.#fetch(pageSize);
    if (changes === this.#changes && next === null) return this.#learn(threads, next);
    const known = this.#state.threads;
    const last = threads.at(-1);
    const end = known.findIndex(
      ({ session_id, updated_at }) => session_id === last?.session_id && updated_at === last.updated_at,
    );
    // More is new than stands on the page.
    if (changes !== this.#changes || end < 0) return await this.#renewAll();
    const above = new Set(threads.map(({ session_id }) => session_id));
    const below = known.slice(end + 1).filter(({ session_id }) => !above.has(session_id));
    this.#learn([...threads, ...below], this.#next);
  }

  #renewAll(): Promise<void> {
    return this.#renew(Math.max(this.#options.pageSize, this.#state.threads.length));
  }

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
