// The snapshot of a session and its subscribers. Follows the session only while there are subscribers.

import { asColloquyError, ColloquyError } from "./colloquy-error.ts";
import { SessionFollower, type FollowListener, type FollowState } from "./session-follower.ts";
import { Gate } from "./gate.ts";
import { reasoningAfter, type LiveReasoning } from "./live-reasoning.ts";
import { abortWith } from "./linked-abort.ts";
import { withEarlier, withLoaded } from "./message-window.ts";
import type { Transport } from "./transport.ts";
import { UpdateQueue } from "./update-queue.ts";
import type { Snapshot } from "./wire.ts";

/** How the session is being followed. */
export interface Connection {
  /**
   * `idle`: no subscribers. `connecting`, `live` (stream open), `polling` (streams are blocked), `waiting`
   * (to retry). `failed`: the service refused; retried at the next subscription or successful request.
   * `deleted`: the session is gone.
   */
  readonly state: FollowState | "idle" | "failed" | "deleted";
  /** Why the session is `waiting`, `polling` or `failed`, if known. */
  readonly error: ColloquyError | null;
}

/** Maximum attempts to read a page of messages without a concurrent change. */
const PAGE_ATTEMPTS = 5;

const IDLE: Connection = { state: "idle", error: null };
const DELETED: Connection = { state: "deleted", error: null };

interface ActiveFollower {
  readonly follower: SessionFollower;
  readonly end: AbortController;
  /** Opens at the first snapshot, or when the first attempt to get one has failed. */
  readonly ready: Gate;
}

export class SessionStore {
  readonly #sessionId: string;
  readonly #transport: Transport;
  readonly #messages: number | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #queues = new Set<UpdateQueue>();
  #active: ActiveFollower | null = null;
  #snapshot: Snapshot | null = null;
  #reasoning: LiveReasoning | null = null;
  #connection = IDLE;
  /** True during a deletion: following would create the session again. */
  #isDeleting = false;

  /** `messages` is the number of latest messages to load; `undefined` loads all. */
  constructor(sessionId: string, transport: Transport, messages: number | undefined) {
    this.#sessionId = sessionId;
    this.#messages = messages;
    this.#transport = transport;
  }

  get snapshot(): Snapshot | null {
    return this.#snapshot;
  }

  get reasoning(): LiveReasoning | null {
    return this.#reasoning;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** Calls back when the snapshot or connection changes. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    // The same function may subscribe twice.
    const own = (): void => listener();
    this.#listeners.add(own);
    this.#follow();
    return () => {
      this.#listeners.delete(own);
      this.#leaveIfAlone();
    };
  }

  /** Returns a queue of the events from now on. */
  addQueue(): UpdateQueue {
    const queue = new UpdateQueue();
    if (this.#connection.state === "deleted") queue.end(null);
    this.#queues.add(queue);
    this.#follow();
    return queue;
  }

  removeQueue(queue: UpdateQueue): void {
    queue.end(null);
    this.#queues.delete(queue);
    this.#leaveIfAlone();
  }

  /** Resolves when all later changes reach subscribers as events. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.#active?.ready.passed(signal);
  }

  /**
   * Retries after a refusal. Call after a successful request, which may have changed the session or lifted
   * the refusal.
   */
  retryNow(): void {
    this.#active?.follower.retryNow();
    this.#follow();
  }

  /**
   * Adopts a snapshot from a response, unless the session is being followed: the follower then reaches that
   * state through events, in order.
   */
  adopt(snapshot: Snapshot): void {
    if (this.#active !== null) {
      this.#active.follower.expect(snapshot);
      return;
    }
    this.#snapshot = withLoaded(this.#snapshot, snapshot);
    this.#connection = IDLE;
    this.#tell();
    this.#follow();
  }

  /** Prepends the page that `read` returns, unless it no longer directly precedes the loaded messages. */
  async addEarlier(read: () => Promise<Snapshot>): Promise<void> {
    for (let attempt = 0; attempt < PAGE_ATTEMPTS; attempt += 1) {
      const follower = this.#active?.follower;
      const ignored = follower?.ignored;
      const page = await read();
      if (this.#active?.follower !== follower) continue;
      // An event that was ignored during the read may have changed a message of the page.
      if (follower !== undefined && follower.ignored !== ignored) continue;
      if (follower !== undefined) return follower.prepend(page);
      this.#snapshot = (this.#snapshot && withEarlier(this.#snapshot, page)) ?? this.#snapshot;
      return this.#tell();
    }
  }

  /** Runs `work` while nothing follows the session, then ends all subscriptions if it succeeded. */
  async retire(work: () => Promise<void>): Promise<void> {
    this.#isDeleting = true;
    this.#leave(IDLE);
    try {
      await work();
    } catch (error) {
      this.#isDeleting = false;
      this.#follow();
      throw error;
    }
    this.#isDeleting = false;
    this.#finish(DELETED);
  }

  /** Ends all subscriptions. */
  stop(): void {
    this.#listeners.clear();
    this.#finish(IDLE);
    this.#queues.clear();
  }

  #follow(): void {
    const isWanted = this.#listeners.size + this.#queues.size > 0;
    const isAllowed = !this.#isDeleting && this.#connection.state !== "deleted";
    if (this.#active !== null || !isWanted || !isAllowed) return;
    const end = new AbortController();
    const ready = new Gate();
    const listener: FollowListener = {
      onSnapshot: (snapshot, updates) => {
        if (end.signal.aborted) return;
        this.#snapshot = snapshot;
        this.#reasoning = updates.reduce(reasoningAfter, this.#reasoning);
        for (const queue of this.#queues) queue.push(updates);
        ready.open();
        this.#tell();
      },
      onStream: () => {
        if (end.signal.aborted || this.#reasoning === null) return;
        this.#reasoning = null;
        this.#tell();
      },
      onState: (state, error) => {
        if (end.signal.aborted) return;
        if (state !== "connecting" || this.#snapshot !== null) ready.open();
        this.#connect({ state, error });
      },
    };
    const follower = new SessionFollower(
      this.#sessionId,
      this.#snapshot,
      this.#transport,
      listener,
      this.#messages,
    );
    this.#active = { follower, end, ready };
    void follower.run(end.signal).then(
      () => this.#finish(DELETED),
      (error: unknown) => {
        if (!end.signal.aborted) this.#finish({ state: "failed", error: asColloquyError(error) });
      },
    );
  }

  #leaveIfAlone(): void {
    if (this.#active !== null && this.#listeners.size + this.#queues.size === 0) this.#leave(IDLE);
  }

  #leave(connection: Connection): void {
    const active = this.#active;
    this.#active = null;
    if (active !== null)
      abortWith(active.end, new ColloquyError("There are no subscribers any more.", { code: "stopped" }));
    active?.ready.open();
    this.#connect(connection);
  }

  /** Stops following and ends all queues. */
  #finish(connection: Connection): void {
    this.#leave(connection);
    for (const queue of this.#queues) queue.end(connection.error);
  }

  #connect(connection: Connection): void {
    const { state, error } = this.#connection;
    if (state === connection.state && error === connection.error) return;
    this.#connection = connection;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        // Report a subscriber's error as uncaught, so that it does not affect the others.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
