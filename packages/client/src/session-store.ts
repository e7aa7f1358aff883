// What is known of a session, and everybody who wants to hear of it. The session is followed while somebody does, and not otherwise.

import { ColloquyError } from "./colloquy-error.ts";
import { Following, type FollowingState } from "./following.ts";
import { Gate } from "./gate.ts";
import type { Transport } from "./transport.ts";
import { UpdateQueue } from "./update-queue.ts";
import type { Snapshot } from "./wire.ts";

/** How the session is followed at the moment. */
export interface Connection {
  /**
   * `idle`: nobody listens. `connecting`, `live` (by the stream), `polling` (the stream does not get through), `waiting` (to try again).
   * `failed`: refused; it is tried again when somebody begins to listen, or another request has succeeded. `deleted`: there is nothing to follow any more.
   */
  readonly state: FollowingState | "idle" | "failed" | "deleted";
  /** Why it waits, polls or has failed, where that is known. */
  readonly error: ColloquyError | null;
}

const IDLE: Connection = { state: "idle", error: null };
const DELETED: Connection = { state: "deleted", error: null };

interface Followed {
  readonly following: Following;
  readonly end: AbortController;
  /** Open when the first snapshot is there, or is not to be had at the moment. */
  readonly begun: Gate;
}

export class SessionStore {
  readonly #sessionId: string;
  readonly #transport: Transport;
  readonly #listeners = new Set<() => void>();
  readonly #queues = new Set<UpdateQueue>();
  #followed: Followed | null = null;
  #snapshot: Snapshot | null = null;
  #connection = IDLE;
  /** Nobody may follow now: whoever asks for a session makes one. */
  #isRetiring = false;

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

  /** Calls back whenever snapshot or connection are new. Answers what ends this. */
  subscribe(listener: () => void): () => void {
    // The same function may listen twice.
    const own = (): void => listener();
    this.#listeners.add(own);
    this.#follow();
    return () => {
      this.#listeners.delete(own);
      this.#leaveIfAlone();
    };
  }

  /** A queue of the events from now on. */
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

  /** Resolves when whatever happens from now on will come as events to who listens. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.#followed?.begun.passed(signal);
  }

  /** A request has succeeded: it may have changed the session, and what was refused may be let through now. */
  hurry(): void {
    this.#followed?.following.hurry();
    this.#follow();
  }

  /** Takes a snapshot that came as an answer. Who follows gets there by events, in their order. */
  learn(snapshot: Snapshot): void {
    if (this.#followed !== null) return;
    this.#snapshot = snapshot;
    this.#connection = IDLE;
    this.#tell();
    this.#follow();
  }

  /** Does what must not happen while the session is followed, and then ends it all if that went well. */
  async retire(work: () => Promise<void>): Promise<void> {
    this.#isRetiring = true;
    this.#leave(IDLE);
    try {
      await work();
    } catch (error) {
      this.#isRetiring = false;
      this.#follow();
      throw error;
    }
    this.#isRetiring = false;
    this.#finish(DELETED);
  }

  /** Nobody listens any more, whether they like it or not. */
  stop(): void {
    this.#listeners.clear();
    this.#finish(IDLE);
    this.#queues.clear();
  }

  #follow(): void {
    const isWanted = this.#listeners.size + this.#queues.size > 0;
    const mayAsk = !this.#isRetiring && this.#connection.state !== "deleted";
    if (this.#followed !== null || !isWanted || !mayAsk) return;
    const end = new AbortController();
    const begun = new Gate();
    const following = new Following(this.#sessionId, this.#snapshot, this.#transport, {
      onSnapshot: (snapshot, updates) => {
        if (end.signal.aborted) return;
        this.#snapshot = snapshot;
        for (const queue of this.#queues) queue.push(updates);
        begun.open();
        this.#tell();
      },
      onState: (state, error) => {
        if (end.signal.aborted) return;
        if (state !== "connecting" || this.#snapshot !== null) begun.open();
        this.#connect({ state, error });
      },
    });
    this.#followed = { following, end, begun };
    void following.run(end.signal).then(
      () => this.#finish(DELETED),
      (error: unknown) => {
        if (!end.signal.aborted) this.#finish({ state: "failed", error: error as ColloquyError });
      },
    );
  }

  #leaveIfAlone(): void {
    if (this.#followed !== null && this.#listeners.size + this.#queues.size === 0) this.#leave(IDLE);
  }

  #leave(connection: Connection): void {
    const followed = this.#followed;
    this.#followed = null;
    followed?.end.abort(new ColloquyError("Nobody listens any more.", { code: "stopped" }));
    followed?.begun.open();
    this.#connect(connection);
  }

  /** There is nothing to come any more. */
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
        // A mistake of one listener is nobody else's: it is reported where uncaught errors are.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
