import type { Message } from "@colloquy/protocol";
import type { SessionNote } from "../core/ports/bus.ts";

type Delta = Extract<SessionNote, { kind: "delta" }>;

/** Text of an agent message that streams. */
export interface StreamingText {
  readonly messageId: string;
  readonly text: string;
}

/** A text as it was read, and the epoch of the session then. */
export interface ReadText extends StreamingText {
  readonly epoch: number;
}

interface Streaming extends StreamingText {
  readonly life: string;
  text: string;
  /** The newest epoch that was heard of; what an older run says does not count. */
  epoch: number;
  /** Whether nothing was missed that may have changed the text; what is said while that is not known waits. */
  isSure: boolean;
  /** What was said behind text that is missing here, oldest first. */
  readonly early: Delta[];
  /** Whether it has grown since `isQuiet` was asked last. */
  hasGrown: boolean;
}

/** Pieces of text that wait for the ones before them; the store has those within a quarter of a second. */
const MAX_EARLY = 1_000;

/** `gap`: text before it is missing, or its message is not known; `old`: it is of a run that is over. */
export type Heard = "taken" | "gap" | "old";

/** The agent messages that stream now, one a session at most, with all their text: what a new reader is sent first. */
export class StreamingTexts {
  readonly #bySession = new Map<string, Streaming>();

  /** The text of this life of the session; `null` also while it is not sure. One of a life that is over may be held until that is heard of. */
  get(sessionId: string, life: string): StreamingText | null {
    const known = this.#bySession.get(sessionId);
    return known?.life === life && known.isSure ? known : null;
  }

  /** Whether text is missing, or may be. */
  hasGap(sessionId: string): boolean {
    const known = this.#bySession.get(sessionId);
    return known !== undefined && (!known.isSure || known.early.length > 0);
  }

  /** Whether a text streams of which nothing was heard since this was asked last. */
  isQuiet(sessionId: string): boolean {
    const known = this.#bySession.get(sessionId);
    if (known === undefined) return false;
    const { hasGrown } = known;
    known.hasGrown = false;
    return !hasGrown;
  }

  /** Something was missed that may have changed the text: it has to be read. */
  doubt(sessionId: string): void {
    const known = this.#bySession.get(sessionId);
    if (known !== undefined) known.isSure = false;
  }

  /** A text that was loaded takes the place of what was announced; answers whether readers have to be sent it. */
  recover(sessionId: string, life: string, { messageId, text, epoch: readEpoch }: ReadText): boolean {
    const known = this.#bySession.get(sessionId);
    const isSame = known?.life === life && known.messageId === messageId;
    const epoch = isSame ? Math.max(known.epoch, readEpoch) : readEpoch;
    const early = isSame ? known.early.filter((delta) => delta.epoch >= epoch) : [];
    const streaming = { life, messageId, text, epoch, isSure: true, early, hasGrown: true };
    this.#bySession.set(sessionId, streaming);
    takeEarly(streaming);
    return !isSame || !known.isSure || known.text !== streaming.text;
  }

  /** As `recover`, of a text that streams elsewhere: what was announced may be ahead of it, and then it stays. */
  mend(sessionId: string, life: string, read: ReadText): boolean {
    const known = this.#bySession.get(sessionId);
    if (known?.life === life && known.messageId === read.messageId) {
      // It was read before what was heard since, and is read again.
      if (read.epoch < known.epoch) return false;
      if (known.isSure && read.epoch === known.epoch && known.text.startsWith(read.text)) return false;
    }
    return this.recover(sessionId, life, read);
  }

  /** How many sessions' texts are held. */
  get size(): number {
    return this.#bySession.size;
  }

  release(sessionId: string): void {
    this.#bySession.delete(sessionId);
  }

  take(sessionId: string, note: SessionNote): Heard {
    const streaming = this.#bySession.get(sessionId);
    if (note.kind === "delta") return takeDelta(streaming, note);
    if (note.kind === "deleted") {
      if (streaming?.life === note.life) this.#bySession.delete(sessionId);
      return "taken";
    }
    if (streaming?.life === note.life && streaming.epoch < note.epoch) {
      streaming.epoch = note.epoch;
      // What has happened is not in the note.
      if (note.kind === "moved") streaming.isSure = false;
    }
    if (note.kind === "moved") return "taken";
    for (const { event } of note.events) {
      if (event.type === "system_notice" || !("message" in event)) continue;
      // An answer that was let go of may change while it waits; whoever goes on with it loads it, and it is recovered.
      if (event.type === "message_updated" && !this.#bySession.has(sessionId)) continue;
      this.#follow(sessionId, note, event.message);
    }
    return "taken";
  }

  #follow(
    sessionId: string,
    { life, epoch }: { readonly life: string; readonly epoch: number },
    message: Message,
  ): void {
    if (message.status === "streaming") {
      this.#bySession.set(sessionId, {
        life,
        messageId: message.id,
        text: message.content,
        epoch,
        isSure: true,
        early: [],
        hasGrown: true,
      });
    } else if (this.#bySession.get(sessionId)?.messageId === message.id) {
      this.#bySession.delete(sessionId);
    }
  }
}

function takeDelta(streaming: Streaming | undefined, delta: Delta): Heard {
  if (streaming?.messageId !== delta.messageId) return "gap";
  if (delta.epoch < streaming.epoch) return "old";
  streaming.hasGrown = true;
  if (delta.epoch > streaming.epoch) {
    // The beginning of this run was not heard of, nor where its text begins.
    streaming.epoch = delta.epoch;
    streaming.isSure = false;
  }
  if (streaming.isSure && streaming.early.length === 0 && grow(streaming, delta)) return "taken";
  if (streaming.early.length < MAX_EARLY) streaming.early.push(delta);
  return "gap";
}

function takeEarly(streaming: Streaming): void {
  const early = streaming.early.splice(0);
  for (const delta of early) {
    // What lies within the text that was read is older than it.
    if (delta.offset + delta.text.length <= streaming.text.length) continue;
    if (!grow(streaming, delta)) streaming.early.push(delta);
  }
}

/** Puts the text where it belongs; `false` when text before it is missing. */
function grow(streaming: Streaming, { offset, text }: Delta): boolean {
  if (offset > streaming.text.length) return false;
  streaming.text =
    offset === streaming.text.length ? streaming.text + text : streaming.text.slice(0, offset) + text;
  return true;
}
