// A client of a session's event stream: takes a snapshot, subscribes after it, folds events, and resumes with
// Last-Event-ID whenever the connection breaks. Checks that events are complete and unique, and that the fold
// equals snapshots.

import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { MessageDelta, Snapshot, UpdateEvent } from "@colloquy/protocol";
import { compareFold, foldDelta, foldEvent, isAfter, splitEventId, type FoldState } from "./fold.ts";
import type { HttpClient } from "./harness/http-request.ts";
import { createSseParser, type StreamedEvent } from "./sse-parser.ts";
import { requestStream } from "./stream-request.ts";
import type { Violations } from "./violations.ts";

/** Number of past states kept for comparison with later snapshots. */
const STATES_KEPT = 64;
/** Maximum number of unreachable nodes to skip, and of stream ends to remember. */
const PASSED_OVER = 10;
const ENDS_TOLD = 6;

export interface FollowerContext {
  readonly client: HttpClient;
  /** Port for the next stream. */
  readonly streamPort: () => number;
  /** Whether the server behind a port is reachable. */
  readonly isReachable: (port: number) => boolean;
  readonly violations: Violations;
  /** Totals over all followers. */
  readonly counts: { resumed: number; refetched: number; compared: number };
}

interface Stream {
  readonly incoming: IncomingMessage;
  readonly port: number;
  /** The event it started after, and when. */
  readonly after: string;
  readonly at: number;
}

export class StreamFollower {
  readonly #context: FollowerContext;
  readonly #sessionId: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** Incarnations in whose log one event was skipped: that of the session's owner, which no client receives. */
  readonly #owned = new Set<string>();
  readonly #hasOwner: boolean;
  readonly #closed = new AbortController();
  readonly #recent = new Map<string, FoldState>();
  readonly #awaited = new Map<string, Snapshot>();
  readonly #done: Promise<void>;
  #state: FoldState | null = null;
  /** Where and why the last streams ended, or could not start. */
  readonly #ends: string[] = [];
  /** The open stream and its port. */
  #open: Stream | null = null;
  /**
   * Whether the next stream must be on a reachable node, so that repeated pauses are not counted as a
   * failure.
   */
  #avoidsUnreachable = false;
  /** Event after which the server reported the log as not resumable. */
  #givenUp: string | null = null;
  /** Number of an event at or after the last removal; infinite while one may happen. Events before a removal are not kept. */
  #removal = 0;
  /** Wakes callers of `reach`. */
  #onMove: (() => void) | null = null;

  /** `authorization` is the header of the session's user; `null` for a session without one. */
  constructor(context: FollowerContext, sessionId: string, authorization: string | null = null) {
    this.#context = context;
    this.#sessionId = sessionId;
    this.#hasOwner = authorization !== null;
    this.#headers = { "x-session-id": sessionId, ...(authorization !== null && { authorization }) };
    this.#done = this.#run();
  }

  /** Whether actions wait for a person, as far as the stream has shown. */
  get hasPendingActions(): boolean {
    return this.#state !== null && this.#state.pending_actions.length > 0;
  }

  /** Compares a snapshot with the fold at the same event, now or once the fold is there. */
  offer(snapshot: Snapshot): void {
    const state = this.#recent.get(snapshot.last_event_id);
    if (state !== undefined) this.#compare(state, snapshot);
    else if (isAfter(snapshot.last_event_id, this.#state?.last_event_id)) {
      this.#awaited.set(snapshot.last_event_id, snapshot);
    }
  }

  /** From now on the log may lose its events to an edit, until `noteRemoval` is called. */
  expectRemoval(): void {
    this.#removal = Number.POSITIVE_INFINITY;
  }

  /** An edit was answered with the log at this event. */
  noteRemoval(eventId: string): void {
    this.#removal = splitEventId(eventId).number;
  }

  /** Resolves with the fold once it has reached the event, or with the current one after `timeoutMs`. */
  async reach(eventId: string, timeoutMs: number): Promise<FoldState | null> {
    const until = performance.now() + timeoutMs;
    while (this.#state?.last_event_id !== eventId && performance.now() < until) {
      await Promise.race([new Promise<void>((resolve) => (this.#onMove = resolve)), sleep(200)]);
    }
    return this.#state;
  }

  /** Switches to another node if the current one is paused or cut off: it may be silent for a minute. */
  leaveUnreachable(): void {
    if (this.#open === null || this.#context.isReachable(this.#open.port)) return;
    this.#avoidsUnreachable = true;
    this.#open.incoming.destroy();
  }

  /** Describes the open stream, and how earlier ones ended. */
  get place(): string {
    const now = performance.now();
    const open =
      this.#open === null
        ? "in no stream"
        : `in a stream at port ${this.#open.port}, after ${this.#open.after}, open for ${seconds(now - this.#open.at)}`;
    return `${seconds(now)} after the start, ${open}, those before it: ${this.#ends.join(", ") || "none"}`;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      try {
        this.#state ??= this.#begin(await this.#fetchSnapshot());
        await this.#followSomewhere(this.#state.last_event_id);
      } catch {
        // No snapshot: the server is down or was killed. Try again until it is back.
      }
      await sleep(20 + Math.random() * 60);
    }
  }

  async #followSomewhere(after: string): Promise<void> {
    const port = this.#nextPort();
    const begun = performance.now();
    let why = "it ended";
    try {
      await this.#follow(port, after);
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
      if (this.#open === null) this.#avoidsUnreachable = true;
    }
    this.#open = null;
    const now = performance.now();
    this.#ends.push(`${port} at ${seconds(now)} after ${seconds(now - begun)}: ${why}`);
    if (this.#ends.length > ENDS_TOLD) this.#ends.shift();
  }

  #nextPort(): number {
    const { isReachable, streamPort } = this.#context;
    let port = streamPort();
    for (let passed = 0; this.#avoidsUnreachable && !isReachable(port) && passed < PASSED_OVER; passed += 1) {
      port = streamPort();
    }
    return port;
  }

  async #fetchSnapshot(): Promise<Snapshot> {
    const answer = await this.#context.client.request("/api/state", { headers: this.#headers });
    if (answer.status !== 200) throw new Error(`state answered ${answer.status}`);
    return JSON.parse(answer.body) as Snapshot;
  }

  #begin(snapshot: Snapshot): FoldState {
    this.#recent.clear();
    const { incarnation } = splitEventId(snapshot.last_event_id);
    const givenUp = this.#givenUp === null ? null : splitEventId(this.#givenUp);
    if (givenUp?.incarnation === incarnation && givenUp.number >= this.#removal) {
      this.#report(`resync before ${snapshot.last_event_id}`, "although all its events are kept");
    }
    this.#givenUp = null;
    return this.#moveTo(snapshot);
  }

  async #follow(port: number, after: string): Promise<void> {
    const { counts } = this.#context;
    const incoming = await requestStream(port, this.#headers, after, this.#closed.signal);
    if (incoming.statusCode !== 200) throw new Error(`updates answered ${incoming.statusCode ?? 0}`);
    counts.resumed += 1;
    this.#open = { incoming, port, after, at: performance.now() };
    this.#avoidsUnreachable = false;
    const parse = createSseParser((event) => {
      if (this.#state !== null) this.#take(event, this.#state);
      if (this.#state === null) incoming.destroy();
    });
    for await (const text of incoming.setEncoding("utf8")) parse(text as string);
  }

  #take(streamed: StreamedEvent, state: FoldState): void {
    const event = streamed.data === null ? null : (JSON.parse(streamed.data) as UpdateEvent);
    if (event?.type === "message_delta") {
      this.#grow(state, event);
    } else if (event?.type === "system_notice" && event.code === "session_deleted") {
      this.#startOver(null);
    } else if (event?.type === "system_notice" && event.code === "resync") {
      this.#resync(state);
    } else if (streamed.id === null && event?.type === "message_updated") {
      // New subscribers first get the whole streaming message without an id. A node that lags behind the log
      // may still send it after the message has ended.
      const known = state.messages.find(({ id }) => id === event.message.id);
      if (known === undefined || known.status === "streaming")
        this.#state = foldEvent(state, event, state.last_event_id);
    } else if (streamed.id !== null) {
      this.#number(streamed.id, event, state);
    }
  }

  #grow(state: FoldState, delta: MessageDelta): void {
    if (!state.messages.some(({ id }) => id === delta.message_id)) {
      // Messages are created by numbered events, so this one belongs to another incarnation, or its creation
      // was lost.
      this.#report(`text of ${delta.message_id}`, `which was not created before ${state.last_event_id}`);
    }
    const next = foldDelta(state, delta);
    if (next === null) this.#startOver("refetched");
    else this.#state = next;
  }

  /** With all groups included, every number of the log must appear once and in order. */
  #number(id: string, event: UpdateEvent | null, state: FoldState): void {
    const [before, now] = [splitEventId(state.last_event_id), splitEventId(id)];
    const skips = now.number === before.number + (event === null ? 1 : 2) && this.#skipOwner(now.incarnation);
    const expected = (event === null ? before.number : before.number + 1) + (skips ? 1 : 0);
    if (now.incarnation !== before.incarnation || now.number !== expected) {
      const what = event === null ? "a bare id" : event.type;
      this.#report(`event ${id}`, `${what} came after ${state.last_event_id}`);
      this.#startOver(null);
    } else if (event !== null) {
      this.#moveTo(foldEvent(state, event, id));
    } else if (skips) {
      this.#moveTo({ ...state, last_event_id: id });
    }
  }

  /** Returns true once for each incarnation of a session with an owner. */
  #skipOwner(incarnation: string): boolean {
    if (!this.#hasOwner || this.#owned.has(incarnation)) return false;
    this.#owned.add(incarnation);
    return true;
  }

  /**
   * A continuing incarnation keeps far more events than a run makes between two connections, so it needs this
   * only after an edit. The next snapshot shows whether it continues: a stream opened during a delete may get this
   * notice.
   */
  #resync(state: FoldState): void {
    this.#givenUp = state.last_event_id;
    this.#startOver(null);
  }

  #moveTo(state: FoldState): FoldState {
    const id = state.last_event_id;
    this.#state = state;
    this.#recent.set(id, state);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > STATES_KEPT && oldest !== undefined) this.#recent.delete(oldest);
    const awaited = this.#awaited.get(id);
    this.#awaited.delete(id);
    if (awaited !== undefined) this.#compare(state, awaited);
    this.#onMove?.();
    return state;
  }

  #startOver(count: "refetched" | null): void {
    if (count !== null) this.#context.counts[count] += 1;
    this.#state = null;
    this.#awaited.clear();
  }

  #compare(state: FoldState, snapshot: Snapshot): void {
    this.#context.counts.compared += 1;
    const differences = compareFold(state, snapshot, true);
    if (differences.length > 0) this.#report(`at ${snapshot.last_event_id}`, differences.join("; "));
  }

  #report(about: string, detail: string): void {
    this.#context.violations.add("fold mismatch", this.#sessionId, about, `${detail}; ${this.place}`);
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
