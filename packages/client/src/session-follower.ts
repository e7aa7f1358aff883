// Keeps a snapshot in sync with the service: by the event stream, or by polling where streams are blocked.

import { ColloquyError, isTransient } from "./colloquy-error.ts";
import { DelayWatch, streamDelayed } from "./delay-watch.ts";
import { difference } from "./difference.ts";
import type { Frame } from "./event-stream-parser.ts";
import { fold, type SessionUpdate, visible, withHidden } from "./fold.ts";
import { wantedMessages, withEarlier, withLoaded } from "./message-window.ts";
import { linkedAbort } from "./linked-abort.ts";
import { poll, untilStreamWorks } from "./polling.ts";
import { StateReader } from "./state-reader.ts";
import { noStreamSlot, type FreeSlot } from "./stream-slots.ts";
import { backoff, pause, type Timer } from "./timing.ts";
import { invalidResponse, type Transport } from "./transport.ts";
import { noStreams, readUpdates } from "./update-stream.ts";
import type { Snapshot } from "./wire.ts";

export type FollowState = "connecting" | "live" | "polling" | "waiting";

export interface FollowListener {
  /** Called when a stream opens: reasoning that it does not send again may be outdated. */
  onStream(): void;
  /** Called with the current snapshot, and the events that led to it. */
  onSnapshot(snapshot: Snapshot, updates: readonly SessionUpdate[]): void;
  /** Called with the connection state; `error` is the reason for waiting or polling. */
  onState(state: FollowState, error: ColloquyError | null): void;
}

/** Maximum delay in milliseconds before the second retry of a lost stream, unless the service sends one. */
const RETRY_MS = 2_000;
const RETRY_CEILING_MS = 30_000;
/** Interval in milliseconds between checks whether the page is hidden and another tab waits for a slot. */
const LOOK_MS = 15_000;
/** Consecutive checks for which a page must be hidden before it frees its slot (one minute). */
const HIDDEN_LOOKS = 4;
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
  readonly #messages: number | undefined;
  #snapshot: Snapshot | null;
  /** State of the snapshot: events fold over it, events are missing, or the session is deleted. */
  #verdict: "good" | "stale" | "deleted" = "good";
  #retryMs = RETRY_MS;
  /** Number of consecutive rounds that ended soon. */
  #failures = 0;
  #resting: { wake(): void } | null = null;
  #isRetryDue = false;
  #ignored = 0;
  /** Frees the stream slot; `null` if this session holds none. */
  #slot: FreeSlot | null = null;
  /** Watches the open stream. */
  #watch: DelayWatch | null = null;
  /** Number of streams abandoned because their events were late. */
  #delays = 0;

  /** `snapshot` is the initial one, if known. */
  /** `messages` is the number of latest messages to load; `undefined` loads all. */
  constructor(
    sessionId: string,
    snapshot: Snapshot | null,
    transport: Transport,
    listener: FollowListener,
    messages: number | undefined,
  ) {
    this.#sessionId = sessionId;
    this.#messages = messages;
    this.#snapshot = snapshot;
    this.#transport = transport;
    this.#listener = listener;
    this.#state = new StateReader(transport, sessionId, () => wantedMessages(messages, this.#snapshot));
  }

  /** Runs until the session is deleted. Throws on permanent failures, and the signal's reason. */
  async run(signal: AbortSignal): Promise<void> {
    const ignoreWake = this.#transport.timing.onWake(() => {
      this.retryNow();
      this.#watch?.check();
    });
    try {
      while (this.#verdict !== "deleted") await this.#round(signal);
    } catch (error) {
      // It was deleted while nothing was connected, so no notice arrived.
      if (!(error instanceof ColloquyError) || error.code !== "session_deleted") throw error;
    } finally {
      ignoreWake();
      this.#freeSlot();
    }
  }

  /** Skips the current pause: something may have changed, or the network is back. */
  retryNow(): void {
    this.#isRetryDue = true;
    this.#resting?.wake();
  }

  /**
   * Expects the stream to catch up with the snapshot of a response. If it does not in time, the session
   * polls.
   */
  expect(snapshot: Snapshot): void {
    this.#watch?.expect(snapshot);
  }

  /** Number of events that were ignored because their messages are not loaded. */
  get ignored(): number {
    return this.#ignored;
  }

  /** Adds earlier messages. */
  prepend(page: Snapshot): void {
    const snapshot = this.#snapshot && withEarlier(this.#snapshot, page);
    if (snapshot === null) return;
    this.#snapshot = snapshot;
    this.#listener.onSnapshot(visible(snapshot), []);
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
    // Half at first: a restarted service is back within seconds.
    const base = this.#retryMs / 2;
    const ms = backoff(this.#transport.timing, Math.max(1, this.#failures), base, RETRY_CEILING_MS);
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
    const onFrame = (frame: Frame): boolean => {
      const keepReading = this.#take(frame);
      if (frame.data !== null) this.#watch?.onEvent();
      return keepReading;
    };
    try {
      const slot = this.#slot ?? this.#transport.slots.take();
      // Synchronous if slots are unlimited, so that the stream request precedes a message sent now.
      this.#slot = slot instanceof Promise ? await slot : slot;
      if (this.#slot === null) return { isOpened, error: noStreamSlot() };
      if (!this.#transport.canStream()) return { isOpened, error: noStreams() };
      const left = await this.#untilLeft(signal, (signal, leave) => {
        const onOpen = (): void => {
          isOpened = true;
          this.#listener.onStream();
          this.#listener.onState("live", null);
          steady = this.#transport.timing.after(STEADY_MS, () => void (this.#failures = 0));
          this.#watch = this.#watchDelay(leave, signal);
        };
        return readUpdates(this.#transport, this.#sessionId, after, { onOpen, onFrame }, signal);
      });
      return left === null ? { isOpened, error: null } : { isOpened: false, error: left };
    } catch (error) {
      return { isOpened, error: transientError(error) };
    } finally {
      (steady as Timer | null)?.stop();
      this.#watch?.stop();
      this.#watch = null;
      this.#freeSlot();
    }
  }

  #watchDelay(leave: (reason: unknown) => void, signal: AbortSignal): DelayWatch {
    // A separate reader, because it may read ahead of the session's snapshot. Every snapshot includes the
    // streaming message.
    const messages = this.#messages === undefined ? undefined : 0;
    const state = new StateReader(this.#transport, this.#sessionId, () => messages);
    return new DelayWatch(this.#transport.timing, {
      current: () => this.#snapshot,
      read: async () => {
        try {
          return await state.readChanged(signal);
        } catch (error) {
          // The stream reports failures of the network and the service.
          if (!signal.aborted && !(error instanceof ColloquyError)) leave(error);
          return null;
        }
      },
      onLate: () => {
        this.#delays += 1;
        leave(streamDelayed());
      },
      onCaughtUp: () => void (this.#delays = 0),
    });
  }

  #freeSlot(): void {
    this.#slot?.();
    this.#slot = null;
  }

  /** Runs `read`. Returns `null`, or the reason for polling if the stream was abandoned meanwhile. */
  async #untilLeft(
    signal: AbortSignal,
    read: (signal: AbortSignal, leave: (reason: unknown) => void) => Promise<unknown>,
  ): Promise<ColloquyError | null> {
    const abort = linkedAbort(signal);
    const left: unknown[] = [];
    const leave = (reason: unknown): void => {
      left.push(reason);
      abort.abort(reason);
    };
    const endWatch = this.#watchPage(() => leave(noStreamSlot()));
    try {
      await read(abort.signal, leave);
    } catch (error) {
      if (left.length === 0) throw error;
    } finally {
      endWatch();
      // Abort pending reads of the watch.
      abort.abort(new ColloquyError("The stream is closed.", { code: "stream_over" }));
      abort.release();
    }
    return left.length === 0 ? null : transientError(left[0]);
  }

  /**
   * Calls `onYield` once the page has been hidden for a minute and another tab waits for a slot. Returns a
   * function that ends this.
   */
  #watchPage(onYield: () => void): () => void {
    const { timing, slots } = this.#transport;
    if (timing.isHidden === undefined) return () => undefined;
    let isOver = false;
    let looks = 0;
    const look = async (): Promise<void> => {
      looks = timing.isHidden?.() === true ? looks + 1 : 0;
      const isWanted = looks >= HIDDEN_LOOKS && (await slots.isWanted());
      if (isOver) return;
      if (isWanted) onYield();
      else timer = timing.after(LOOK_MS, () => void look());
    };
    let timer = timing.after(LOOK_MS, () => void look());
    return () => {
      isOver = true;
      timer.stop();
    };
  }

  async #poll(reason: ColloquyError | null, signal: AbortSignal): Promise<void> {
    const { timing } = this.#transport;
    const poller = {
      ask: async (signal: AbortSignal) => {
        this.#isRetryDue = false;
        const snapshot = await this.#state.readChanged(signal);
        this.#failures = 0;
        this.#listener.onState("polling", reason);
        if (snapshot !== null) this.#adopt(snapshot);
        return this.#snapshot?.is_processing === true;
      },
      rest: async (ms: number, signal: AbortSignal) => {
        if (!this.#isRetryDue) await this.#rest(ms, signal);
      },
      retryNow: () => this.retryNow(),
    };
    await poll(timing, signal, poller, (signal) => {
      if (reason?.code === "no_stream_slot") return this.#nextSlot(signal);
      return untilStreamWorks(timing, signal, this.#delays, () => this.#tryStream(signal));
    });
  }

  /** Waits for a slot while the page is visible. */
  async #nextSlot(signal: AbortSignal): Promise<void> {
    const { timing, slots } = this.#transport;
    while (timing.isHidden?.() === true) {
      const resting = pause(timing, LOOK_MS, signal);
      const ignoreWake = timing.onWake(() => resting.wake());
      await resting.finally(ignoreWake);
    }
    this.#slot = await slots.next(signal);
  }

  /**
   * Opens a stream and returns true if it delivers bytes. Discards its events, because the next stream
   * resumes from the current snapshot.
   */
  async #tryStream(signal: AbortSignal): Promise<boolean> {
    let works = false;
    if (!this.#transport.canStream()) return false;
    this.#slot ??= await this.#transport.slots.take();
    if (this.#slot === null) return false;
    try {
      const reader = { onOpen: () => void (works = true), onFrame: () => false };
      await readUpdates(this.#transport, this.#sessionId, null, reader, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof ColloquyError)) throw error;
    } finally {
      if (!works) this.#freeSlot();
    }
    return works;
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
    if (folded.update === null) this.#ignored += 1;
    if (folded.update !== null) this.#listener.onSnapshot(visible(folded.snapshot), [folded.update]);
    if (code === "session_deleted") this.#verdict = "deleted";
    return code !== "session_deleted";
  }

  #adopt(read: Snapshot): Snapshot {
    const before = this.#snapshot;
    const snapshot = withLoaded(before, read);
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
    throw invalidResponse("The stream contains data that is not an event.", cause);
  }
}
