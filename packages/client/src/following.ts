// Keeps a snapshot as the service has it: by the stream of events, and where streams do not get through by asking again and again.

import { ColloquyError, isPassing } from "./colloquy-error.ts";
import { difference } from "./difference.ts";
import type { Frame } from "./event-stream-parser.ts";
import { fold, type SessionUpdate, visible, withHidden } from "./fold.ts";
import { poll } from "./polling.ts";
import { StateReader } from "./state-reader.ts";
import { backoff, pause, type Timer } from "./timing.ts";
import { answerInvalid, type Transport } from "./transport.ts";
import { readUpdates } from "./update-stream.ts";
import type { Snapshot } from "./wire.ts";

export type FollowingState = "connecting" | "live" | "polling" | "waiting";

export interface FollowingListener {
  /** What is known now, and the events that made it so. */
  onSnapshot(snapshot: Snapshot, updates: readonly SessionUpdate[]): void;
  /** `error` is why it has to wait, or does not use the stream. */
  onState(state: FollowingState, error: ColloquyError | null): void;
}

/** Milliseconds before a stream that was lost is opened again, where the service did not say; doubled with each failure. */
const RETRY_MS = 2_000;
const RETRY_CEILING_MS = 30_000;
/** A stream that has lasted for so many milliseconds is no failure. */
const STEADY_MS = 5_000;

export class Following {
  readonly #sessionId: string;
  readonly #transport: Transport;
  readonly #listener: FollowingListener;
  readonly #state: StateReader;
  #snapshot: Snapshot | null;
  /** What the stream says of the snapshot: that its events can be folded over it, that some are missing, that the session is gone. */
  #verdict: "good" | "stale" | "deleted" = "good";
  #retryMs = RETRY_MS;
  /** Rounds in a row that ended soon. */
  #failures = 0;
  #resting: { wake(): void } | null = null;
  #isHurried = false;

  /** `snapshot` is what is known already. */
  constructor(
    sessionId: string,
    snapshot: Snapshot | null,
    transport: Transport,
    listener: FollowingListener,
  ) {
    this.#sessionId = sessionId;
    this.#snapshot = snapshot;
    this.#transport = transport;
    this.#listener = listener;
    this.#state = new StateReader(transport, sessionId);
  }

  /** Goes on until the session is deleted. Throws what makes it hopeless, and the signal's reason. */
  async run(signal: AbortSignal): Promise<void> {
    const ignoreWake = this.#transport.timing.onWake(() => this.hurry());
    try {
      while (this.#verdict !== "deleted") await this.#round(signal);
    } finally {
      ignoreWake();
    }
  }

  /** Something may have changed, or the network is back: what is waited for is tried at once. */
  hurry(): void {
    this.#isHurried = true;
    this.#resting?.wake();
  }

  /** One snapshot if it is needed, and one stream until its end; or, when that could not be opened, polling as long as it works. */
  async #round(signal: AbortSignal): Promise<void> {
    this.#failures += 1;
    let error: ColloquyError | null = null;
    try {
      const snapshot = await this.#current(signal);
      const stream = await this.#stream(snapshot, signal);
      if (!stream.isOpened) return await this.#poll(stream.error, signal);
      // What is missing is fetched at once, unless that has not helped before.
      if (this.#verdict === "deleted" || (this.#verdict === "stale" && this.#failures <= 1)) return;
      error = stream.error;
    } catch (caught) {
      error = passing(caught);
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

  /** Whether there was a stream at all, and what has ended it. */
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
      return { isOpened, error: passing(error) };
    } finally {
      (steady as Timer | null)?.stop();
    }
  }

  async #poll(reason: ColloquyError | null, signal: AbortSignal): Promise<void> {
    await poll(this.#transport, this.#sessionId, signal, {
      ask: async (signal) => {
        this.#isHurried = false;
        const snapshot = await this.#state.readChanged(signal);
        this.#failures = 0;
        this.#listener.onState("polling", reason);
        if (snapshot !== null) this.#adopt(snapshot);
        return this.#snapshot?.is_processing === true;
      },
      rest: async (ms, signal) => {
        if (!this.#isHurried) await this.#rest(ms, signal);
      },
      hurry: () => this.hurry(),
    });
  }

  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    const resting = pause(this.#transport.timing, ms, signal);
    this.#resting = resting;
    await resting;
    this.#resting = null;
  }

  /** Answers whether the stream is worth reading on. */
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
    const folded = code === "resync" ? null : fold(snapshot, update, id);
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

/** An error that may be gone with the next try. Throws any other. */
function passing(error: unknown): ColloquyError {
  if (error instanceof ColloquyError && error.code !== "stopped" && isPassing(error)) return error;
  throw error;
}

function parseUpdate(data: string): SessionUpdate {
  try {
    return JSON.parse(data) as SessionUpdate;
  } catch (cause) {
    throw answerInvalid("The stream holds something that is not an event.", cause);
  }
}
