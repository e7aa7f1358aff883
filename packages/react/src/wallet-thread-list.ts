import { ColloquyError, type Client } from "@colloquy/client";
import type { SessionObserver } from "./session-pool.ts";
import { mergeFetched, withThread, withoutThread, type ThreadEntry } from "./thread-entries.ts";
import { NO_THREADS, type ThreadList, type ThreadsState } from "./thread-list.ts";

/** Maximum page size of the service. */
const MAX_PAGE_SIZE = 200;

export interface WalletThreadsOptions {
  readonly client: Client;
  /** The wallet; `null` for the threads of the signed-in user. */
  readonly publicKey: string | null;
  /** Number of threads per page, 1 to 200. */
  readonly pageSize: number;
}

/**
 * Threads of a wallet or of the signed-in user. Fetched for the first subscriber and again after each message sent here; local renames,
 * pins and removals apply at once. Requests run one at a time, so that an older answer never follows a newer one,
 * and an answer that was pending during a local change is discarded.
 */
export class WalletThreadList implements ThreadList {
  readonly #options: WalletThreadsOptions;
  readonly #listeners = new Set<() => void>();
  #state: ThreadsState = { ...NO_THREADS, isLoading: true };
  #next: string | null = null;
  #work: Promise<void> = Promise.resolve();
  #refresh: Promise<void> | null = null;
  #hasStarted = false;
  #isTopRefreshQueued = false;
  /** Counts local changes, to detect outdated answers. */
  #changes = 0;

  constructor(options: WalletThreadsOptions) {
    this.#options = options;
  }

  readonly getState = (): ThreadsState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    const own = (): void => listener();
    this.#listeners.add(own);
    if (!this.#hasStarted) void this.refresh();
    return () => void this.#listeners.delete(own);
  };

  /** Fetches the list. Calls before the request starts share it. */
  readonly refresh = (): Promise<void> => {
    this.#hasStarted = true;
    this.#refresh ??= this.#after(() => {
      this.#refresh = null;
      return this.#refetchAll();
    });
    return this.#refresh;
  };

  readonly loadMore = (): Promise<void> =>
    this.#after(async () => {
      if (this.#next === null) return;
      const { client, publicKey, pageSize } = this.#options;
      const changes = this.#changes;
      const wanted = this.#state.threads.length + pageSize;
      const page = await client.listThreads(publicKey ?? undefined, { limit: pageSize, cursor: this.#next });
      if (changes !== this.#changes) return await this.#refetch(wanted);
      const known = new Set(this.#state.threads.map(({ session_id }) => session_id));
      const more = page.threads.filter(({ session_id }) => !known.has(session_id));
      this.#learn([...this.#state.threads, ...more], page.next);
    });

  readonly onSummary: SessionObserver = ({ id, title, newest, isDeleted }, before) => {
    if (isDeleted) return this.drop(id);
    const entry = this.#state.threads.find(({ session_id }) => session_id === id);
    if (entry !== undefined) this.put({ ...entry, title });
    // Only the service knows the position of a new message or conversation, so fetch the list.
    if (this.#hasStarted && before !== null && before.newest?.id !== newest?.id) this.#refreshTop();
  };

  readonly put = (entry: ThreadEntry): void => {
    const threads = withThread(this.#state.threads, entry);
    // Nothing has changed, so a pending response stays valid.
    if (threads === this.#state.threads) return;
    this.#changes += 1;
    this.#set({ threads });
  };

  readonly drop = (id: string): void => {
    // Count unlisted threads as well: they may be in a pending response.
    this.#changes += 1;
    this.#set({ threads: withoutThread(this.#state.threads, id) });
  };

  /**
   * Fetches the first page. Calls before the request starts share it. Does nothing if a full refresh is
   * already waiting.
   */
  #refreshTop(): void {
    if (this.#refresh !== null || this.#isTopRefreshQueued) return;
    this.#isTopRefreshQueued = true;
    void this.#after(() => {
      this.#isTopRefreshQueued = false;
      return this.#refetchTop();
    });
  }

  /**
   * Fetches the first page again and keeps the rest, which may be long: new threads follow the pinned ones.
   */
  async #refetchTop(): Promise<void> {
    const { pageSize } = this.#options;
    if (this.#state.threads.length <= pageSize) return await this.#refetchAll();
    const changes = this.#changes;
    const { threads, next } = await this.#fetch(pageSize);
    if (changes === this.#changes && next === null) return this.#learn(threads, next);
    const known = this.#state.threads;
    const last = threads.at(-1);
    const end = known.findIndex(
      ({ session_id, updated_at }) => session_id === last?.session_id && updated_at === last.updated_at,
    );
    // The new threads exceed one page, or continue after it.
    if (changes !== this.#changes || end < 0 || last?.pinned === true) return await this.#refetchAll();
    const above = new Set(threads.map(({ session_id }) => session_id));
    const below = known.slice(end + 1).filter(({ session_id }) => !above.has(session_id));
    this.#learn([...threads, ...below], this.#next);
  }

  #refetchAll(): Promise<void> {
    return this.#refetch(Math.max(this.#options.pageSize, this.#state.threads.length));
  }

  /** Fetches the first `wanted` threads. */
  async #refetch(wanted: number): Promise<void> {
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
      const limit = Math.min(MAX_PAGE_SIZE, wanted - threads.length);
      const page: Awaited<ReturnType<Client["listThreads"]>> = await client.listThreads(
        publicKey ?? undefined,
        {
          limit,
          ...(cursor !== null && { cursor }),
        },
      );
      threads.push(...page.threads);
      cursor = page.next;
    } while (cursor !== null && threads.length < wanted);
    return { threads, next: cursor };
  }

  #learn(threads: readonly ThreadEntry[], next: string | null): void {
    this.#next = next;
    const known = mergeFetched(this.#state.threads, threads);
    this.#set({ threads: known, isLoading: false, error: null, hasMore: next !== null });
  }

  /** Runs `work` after all earlier work. Stores a failure in the state. */
  #after(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(async () => {
      this.#set({ isLoading: true });
      try {
        await work();
      } catch (error) {
        if (!(error instanceof ColloquyError)) throw error;
        this.#set({ isLoading: false, error });
      } finally {
        this.#set({ isLoading: false });
      }
    });
    this.#work = done.catch(() => undefined);
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
