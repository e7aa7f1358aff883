// Texts of streaming agent messages, for sessions with subscribers, and the repair of texts after lost notifications.

import type { PlacedMessage } from "../core/message.ts";
import type { KnownText, SessionNotification } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { StreamingText } from "../core/ports/driven/event-hub.ts";

type Delta = Extract<SessionNotification, { kind: "delta" }>;

/** A text read from the store, with the session's epoch at that time. */
export interface ReadText extends StreamingText {
  readonly epoch: number;
}

interface Streaming extends StreamingText {
  readonly incarnation: string;
  answer: PlacedMessage;
  text: string;
  /** The newest known epoch; deltas of older ones are ignored. */
  epoch: number;
  /** False if a missed notification may have changed the text. Deltas are buffered until it has been read again. */
  isComplete: boolean;
  /** Buffered deltas whose preceding text is missing, oldest first. */
  readonly early: Delta[];
  /** True if text arrived since the last call of `isQuietSinceLastCall`. */
  hasGrown: boolean;
}

/** Maximum buffered deltas; the store has the missing text within 250 ms. */
const MAX_EARLY = 1_000;

const RETRY_MS = 250;
/** Maximum reads per gap, far more than a checkpoint needs. The next delta starts the repair again. */
const MAX_TRIES = 20;

/**
 * `filled`: the text is complete again, with deltas that arrived early; `gap`: earlier text is missing, or the message
 * is unknown; `old`: the delta belongs to an older epoch.
 */
export type DeltaOutcome = "applied" | "filled" | "gap" | "old";

/** The streaming text of each session, at most one. New subscribers receive it first. */
export class StreamingTexts {
  readonly #bySession = new Map<string, Streaming>();

  /**
   * Returns the text in this incarnation, or `null` if none is known to be complete. The text of an older
   * incarnation stays until its deletion is announced.
   */
  get(sessionId: string, incarnation: string): StreamingText | null {
    const known = this.#bySession.get(sessionId);
    return known?.incarnation === incarnation && known.isComplete ? known : null;
  }

  /** Returns the length of the text; `null` if none is known to be complete. */
  known(sessionId: string): KnownText | null {
    const known = this.#bySession.get(sessionId);
    if (known === undefined || !known.isComplete) return null;
    return { epoch: known.epoch, messageId: known.messageId, length: known.text.length };
  }

  /** Returns true if the text is or may be incomplete. */
  hasGap(sessionId: string): boolean {
    const known = this.#bySession.get(sessionId);
    return known !== undefined && (!known.isComplete || known.early.length > 0);
  }

  /** Returns true if a message is streaming but its text has not grown since the last call. */
  isQuietSinceLastCall(sessionId: string): boolean {
    const known = this.#bySession.get(sessionId);
    if (known === undefined) return false;
    const { hasGrown } = known;
    known.hasGrown = false;
    return !hasGrown;
  }

  /** Marks the text as possibly incomplete; `recover` or `merge` must replace it. */
  doubt(sessionId: string): void {
    const known = this.#bySession.get(sessionId);
    if (known !== undefined) known.isComplete = false;
  }

  /** Replaces the text with one read from the store. Returns true if subscribers must receive it. */
  recover(
    sessionId: string,
    incarnation: string,
    { messageId, text, answer, epoch: readEpoch }: ReadText,
  ): boolean {
    const known = this.#bySession.get(sessionId);
    const isSame = known?.incarnation === incarnation && known.messageId === messageId;
    const epoch = isSame ? Math.max(known.epoch, readEpoch) : readEpoch;
    const early = isSame ? known.early.filter((delta) => delta.epoch >= epoch) : [];
    const streaming = this.#begin(sessionId, { incarnation, messageId, text, answer, epoch, early });
    applyEarly(streaming);
    return !isSame || !known.isComplete || known.text !== streaming.text;
  }

  /** Like `recover`, but keeps announced text that is ahead of the text in the store. */
  merge(sessionId: string, incarnation: string, read: ReadText): boolean {
    const known = this.#bySession.get(sessionId);
    if (known?.incarnation === incarnation && known.messageId === read.messageId) {
      // The read is older than the announced epoch; the next read replaces it.
      if (read.epoch < known.epoch) return false;
      if (known.isComplete && read.epoch === known.epoch && known.text.startsWith(read.text)) {
        // This node may have missed an event that changed the message's tool calls.
        known.answer = read.answer;
        return false;
      }
    }
    return this.recover(sessionId, incarnation, read);
  }

  /** Number of sessions with a text. */
  get size(): number {
    return this.#bySession.size;
  }

  release(sessionId: string): void {
    this.#bySession.delete(sessionId);
  }

  /** Applies a notification. Only the outcome of a delta is meaningful. */
  apply(sessionId: string, notification: SessionNotification): DeltaOutcome {
    const streaming = this.#bySession.get(sessionId);
    if (notification.kind === "delta") return applyDelta(streaming, notification);
    if (notification.kind === "text_requested" || notification.kind === "reasoning_requested")
      return "applied";
    if (notification.kind === "reasoning") return "applied";
    if (notification.kind === "deleted") {
      if (streaming?.incarnation === notification.incarnation) this.#bySession.delete(sessionId);
      return "applied";
    }
    if (streaming?.incarnation === notification.incarnation && streaming.epoch < notification.epoch) {
      streaming.epoch = notification.epoch;
      // A `moved` hint lacks the events, which may have changed the text.
      if (notification.kind === "moved") streaming.isComplete = false;
    }
    if (notification.kind === "moved") return "applied";
    for (const { event } of notification.events) {
      if (event.type === "system_notice" || !("message" in event)) continue;
      // The answer of a waiting turn may change after its text was released. The turn's next owner recovers it.
      if (event.type === "message_updated" && !this.#bySession.has(sessionId)) continue;
      this.#follow(sessionId, notification, { message: event.message, index: event.index });
    }
    return "applied";
  }

  #follow(
    sessionId: string,
    { incarnation, epoch }: { readonly incarnation: string; readonly epoch: number },
    answer: PlacedMessage,
  ): void {
    const { id: messageId, status, content: text } = answer.message;
    if (status === "streaming")
      this.#begin(sessionId, { incarnation, messageId, text, answer, epoch, early: [] });
    else if (this.#bySession.get(sessionId)?.messageId === messageId) this.#bySession.delete(sessionId);
  }

  #begin(sessionId: string, known: Omit<Streaming, "isComplete" | "hasGrown">): Streaming {
    const streaming = { ...known, isComplete: true, hasGrown: true };
    this.#bySession.set(sessionId, streaming);
    return streaming;
  }
}

export interface TextRepairOptions {
  readonly clock: Clock;
  /**
   * Reads the session and its text from the store. Returns false if the result is older than the known text.
   */
  readonly read: (sessionId: string) => Promise<boolean>;
  /** Returns true if pieces are still missing and the session has subscribers. */
  readonly isBroken: (sessionId: string) => boolean;
}

/**
 * Repairs streaming text from the store after a notification was lost or arrived before its subscriber. Reads
 * repeatedly until a checkpoint, at most 250 ms old, contains the missing pieces.
 */
export class TextRepair {
  readonly #options: TextRepairOptions;
  /** Sessions being read; true if another read was requested since the current one began. */
  readonly #reading = new Map<string, boolean>();
  #stopped = false;

  constructor(options: TextRepairOptions) {
    this.#options = options;
  }

  /** Starts a read of the session, or another one after the read in progress. Never throws. */
  begin(sessionId: string): void {
    if (this.#stopped) return;
    const isUnderWay = this.#reading.has(sessionId);
    this.#reading.set(sessionId, isUnderWay);
    if (!isUnderWay) void this.#repair(sessionId, 1);
  }

  stop(): void {
    this.#stopped = true;
  }

  async #repair(sessionId: string, tries: number): Promise<void> {
    let isRepaired: boolean;
    do {
      this.#reading.set(sessionId, false);
      // Treat a store failure like missing text: try again later.
      const isRead = await this.#options.read(sessionId).catch(() => false);
      if (this.#stopped) return;
      isRepaired = isRead && !this.#options.isBroken(sessionId);
      // While pieces are missing, only the timer triggers reads.
    } while (isRepaired && this.#reading.get(sessionId) === true);
    if (isRepaired || tries === MAX_TRIES) this.#reading.delete(sessionId);
    else this.#options.clock.after(RETRY_MS, () => void this.#repair(sessionId, tries + 1));
  }
}

function applyDelta(streaming: Streaming | undefined, delta: Delta): DeltaOutcome {
  if (streaming?.messageId !== delta.messageId) return "gap";
  if (delta.epoch < streaming.epoch) return "old";
  streaming.hasGrown = true;
  if (delta.epoch > streaming.epoch) {
    // This node missed the start of the epoch, so its base offset is unknown.
    streaming.epoch = delta.epoch;
    streaming.isComplete = false;
  }
  if (streaming.isComplete && writeAtOffset(streaming, delta)) {
    if (streaming.early.length === 0) return "applied";
    applyEarly(streaming);
    return streaming.early.length === 0 ? "filled" : "gap";
  }
  if (streaming.early.length < MAX_EARLY) streaming.early.push(delta);
  return "gap";
}

function applyEarly(streaming: Streaming): void {
  const early = streaming.early.splice(0);
  for (const delta of early) if (!writeAtOffset(streaming, delta)) streaming.early.push(delta);
}

/**
 * Appends a delta unless the text already contains it, because text from the store may be ahead of the bus.
 * Returns false if text before the delta is missing.
 */
function writeAtOffset(streaming: Streaming, { offset, text }: Delta): boolean {
  const known = streaming.text.length;
  if (offset > known) return false;
  streaming.text += text.slice(known - offset);
  return true;
}
