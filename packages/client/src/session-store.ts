// The snapshot of a session and its subscribers. Follows the session only while there are subscribers.

import { ColloquyError } from "./colloquy-error.ts";
import { SessionFollower, type FollowState } from "./session-follower.ts";
import { Gate } from "./gate.ts";
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
  readonly #listeners = new Set<() => void>();
  readonly #queues = new Set<UpdateQueue>();
  #active: ActiveFollower | null = null;
  #snapshot: Snapshot | null = null;
  #connection = IDLE;
  /** True during a deletion: following would create the session again. */
  #isDeleting = false;

  constructor(sessionId: string, transport: Transport) {
    this.#sessionId = sessionId;
    this.#transport = transport;
  }

  get snapshot(): Snapshot | null {
    return this.#snapshot;
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
    if (this.#active !== null) return;
    this.#snapshot = snapshot;
    this.#connection = IDLE;
    this.#tell();
    this.#follow();
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
    const follower = new SessionFollower(this.#sessionId, this.#snapshot, this.#transport, {
      onSnapshot: (snapshot, updates) => {
        if (end.signal.aborted) return;
        this.#snapshot = snapshot;
        for (const queue of this.#queues) queue.push(updates);
        ready.open();
        this.#tell();
      },
      onState: (state, error) => {
        if (end.signal.aborted) return;
        if (state !== "connecting" || this.#snapshot !== null) ready.open();
        this.#connect({ state, error });
      },
    });
    this.#active = { follower, end, ready };
    void follower.run(end.signal).then(
      () => this.#finish(DELETED),
      (error: unknown) => {
        if (!end.signal.aborted) this.#finish({ state: "failed", error: error as ColloquyError });
      },
    );
  }

  #leaveIfAlone(): void {
    if (this.#active !== null && this.#listeners.size + this.#queues.size === 0) this.#leave(IDLE);
  }

  #leave(connection: Connection): void {
    const active = this.#active;
    this.#active = null;
    active?.end.abort(new ColloquyError("There are no subscribers any more.", { code: "stopped" }));
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
