// Keeps a snapshot in sync with the service: by the event stream, or by polling where streams are blocked.

import { ColloquyError, isTransient } from "./colloquy-error.ts";
import { difference } from "./difference.ts";
import type { Frame } from "./event-stream-parser.ts";
import { fold, type SessionUpdate, visible, withHidden } from "./fold.ts";
import { poll } from "./polling.ts";
import { StateReader } from "./state-reader.ts";
import { backoff, pause, type Timer } from "./timing.ts";
import { answerInvalid, type Transport } from "./transport.ts";
import { readUpdates } from "./update-stream.ts";
import type { Snapshot } from "./wire.ts";

export type FollowState = "connecting" | "live" | "polling" | "waiting";

export interface FollowListener {
  /** Called with the current snapshot, and the events that led to it. */
  onSnapshot(snapshot: Snapshot, updates: readonly SessionUpdate[]): void;
  /** Called with the connection state; `error` is the reason for waiting or polling. */
  onState(state: FollowState, error: ColloquyError | null): void;
}

/** Milliseconds before a lost stream is reopened, unless the service sends a delay. Doubles with each failure. */
const RETRY_MS = 2_000;
const RETRY_CEILING_MS = 30_000;
/** A stream that lasted this many milliseconds resets the failure count. */
const STEADY_MS = 5_000;

/**
 * Codes of notices after which the snapshot must be read: events are missing, the user's token expired, or
 * the session belongs to another user (reading it then fails with 404).
 */
const READ_AGAIN: ReadonlySet<string> = new Set(["resync", "user_token_expired", "session_not_found"]);

export class SessionFollower {
  readonly #sessionId: string;
  readonly #transport: Transport;
  readonly #listener: FollowListener;
  readonly #state: StateReader;
  #snapshot: Snapshot | null;
  /** State of the snapshot: events fold over it, events are missing, or the session is deleted. */
  #verdict: "good" | "stale" | "deleted" = "good";
  #retryMs = RETRY_MS;
  /** Number of consecutive rounds that ended soon. */
  #failures = 0;
  #resting: { wake(): void } | null = null;
  #isRetryDue = false;

  /** `snapshot` is the initial one, if known. */
  constructor(sessionId: string, snapshot: Snapshot | null, transport: Transport, listener: FollowListener) {
    this.#sessionId = sessionId;
    this.#snapshot = snapshot;
    this.#transport = transport;
    this.#listener = listener;
    this.#state = new StateReader(transport, sessionId);
  }

  /** Runs until the session is deleted. Throws on permanent failures, and the signal's reason. */
  async run(signal: AbortSignal): Promise<void> {
    const ignoreWake = this.#transport.timing.onWake(() => this.retryNow());
    try {
      while (this.#verdict !== "deleted") await this.#round(signal);
    } catch (error) {
      // It was deleted while nothing was connected, so no notice arrived.
      if (!(error instanceof ColloquyError) || error.code !== "session_deleted") throw error;
    } finally {
      ignoreWake();
    }
  }

  /** Skips the current pause: something may have changed, or the network is back. */
  retryNow(): void {
    this.#isRetryDue = true;
    this.#resting?.wake();
  }

  /**
   * Reads a snapshot if needed and then one stream until it ends; or polls if the stream could not be opened.
   */
  async #round(signal: AbortSignal): Promise<void> {
    this.#failures += 1;
    let error: ColloquyError | null = null;
    try {
      const snapshot = await this.#current(signal);
      const stream = await this.#stream(snapshot, signal);
      if (!stream.isOpened) return await this.#poll(stream.error, signal);
      // Fetch missing events at once, unless that has just failed.
      if (this.#verdict === "deleted" || (this.#verdict === "stale" && this.#failures <= 1)) return;
      error = stream.error;
    } catch (caught) {
      error = transientError(caught);
    }
    this.#listener.onState("waiting", error);
    const ms = backoff(this.#transport.timing, Math.max(1, this.#failures), this.#retryMs, RETRY_CEILING_MS);
    await this.#rest(ms, signal);
  }

  async #current(signal: AbortSignal): Promise<Snapshot> {
    this.#listener.onState("connecting", null);
    if (this.#snapshot !== null && this.#verdict === "good") return this.#snapshot;
    const snapshot = await this.#state.read(signal);
    this.#verdict = "good";
    return this.#adopt(snapshot);
  }

  /** Returns whether a stream was opened, and the error that ended it. */
  async #stream(
    { last_event_id: after }: Snapshot,
    signal: AbortSignal,
  ): Promise<{ readonly isOpened: boolean; readonly error: ColloquyError | null }> {
    let isOpened = false;
    let steady: Timer | null = null;
    const onOpen = (): void => {
      isOpened = true;
      this.#listener.onState("live", null);
      steady = this.#transport.timing.after(STEADY_MS, () => void (this.#failures = 0));
    };
    const onFrame = (frame: Frame): boolean => this.#take(frame);
    try {
      await readUpdates(this.#transport, this.#sessionId, after, { onOpen, onFrame }, signal);
      return { isOpened, error: null };
    } catch (error) {
      return { isOpened, error: transientError(error) };
    } finally {
      (steady as Timer | null)?.stop();
    }
  }

  async #poll(reason: ColloquyError | null, signal: AbortSignal): Promise<void> {
    await poll(this.#transport, this.#sessionId, signal, {
      ask: async (signal) => {
        this.#isRetryDue = false;
        const snapshot = await this.#state.readChanged(signal);
        this.#failures = 0;
        this.#listener.onState("polling", reason);
        if (snapshot !== null) this.#adopt(snapshot);
        return this.#snapshot?.is_processing === true;
      },
      rest: async (ms, signal) => {
        if (!this.#isRetryDue) await this.#rest(ms, signal);
      },
      retryNow: () => this.retryNow(),
    });
  }

  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    const resting = pause(this.#transport.timing, ms, signal);
    this.#resting = resting;
    await resting;
    this.#resting = null;
  }

  /** Returns whether to keep reading the stream. */
  #take({ id, data, retry }: Frame): boolean {
    const snapshot = this.#snapshot;
    if (retry !== null) this.#retryMs = retry;
    if (snapshot === null) return false;
    if (data === null) {
      if (id !== null) this.#snapshot = { ...snapshot, last_event_id: id };
      return true;
    }
    const update = parseUpdate(data);
    const code = update.type === "system_notice" ? update.code : null;
    const folded = code !== null && READ_AGAIN.has(code) ? null : fold(snapshot, update, id);
    if (folded === null) {
      this.#verdict = "stale";
      return false;
    }
    this.#state.forget();
    this.#snapshot = folded.snapshot;
    if (folded.update !== null) this.#listener.onSnapshot(visible(folded.snapshot), [folded.update]);
    if (code === "session_deleted") this.#verdict = "deleted";
    return code !== "session_deleted";
  }

  #adopt(snapshot: Snapshot): Snapshot {
    const before = this.#snapshot;
    const now = before === null ? snapshot : withHidden(before, snapshot);
    this.#snapshot = now;
    this.#listener.onSnapshot(snapshot, before === null ? [] : difference(before, now));
    return now;
  }
}

/** Returns a transient error. Throws any other. */
function transientError(error: unknown): ColloquyError {
  if (error instanceof ColloquyError && error.code !== "stopped" && isTransient(error)) return error;
  throw error;
}

function parseUpdate(data: string): SessionUpdate {
  try {
    return JSON.parse(data) as SessionUpdate;
  } catch (cause) {
    throw answerInvalid("The stream contains data that is not an event.", cause);
  }
}
