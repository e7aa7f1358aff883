import type { Message } from "@colloquy/protocol";
import type { SessionNote } from "../core/ports/bus.ts";

type Delta = Extract<SessionNote, { kind: "delta" }>;

/** Text of an agent message that streams. */
export interface StreamingText {
  readonly messageId: string;
  readonly text: string;
}

interface Streaming extends StreamingText {
  readonly life: string;
  text: string;
  /** The newest epoch that was heard of; what an older run says does not count. */
  epoch: number;
  /** What was said behind text that is missing here, oldest first. */
  readonly early: Delta[];
}

/** Pieces of text that wait for the ones before them; the store has those within a quarter of a second. */
const MAX_EARLY = 1_000;

/** `gap`: text before it is missing, or its message is not known; `old`: it is of a run that is over. */
export type Heard = "taken" | "gap" | "old";

/** The agent messages that stream now, one a session at most, with all their text: what a new reader is sent first. */
export class StreamingTexts {
  readonly #bySession = new Map<string, Streaming>();

  get(sessionId: string): StreamingText | null {
    return this.#bySession.get(sessionId) ?? null;
  }

  /** Whether text is known that comes behind text which is missing. */
  hasGap(sessionId: string): boolean {
    return (this.#bySession.get(sessionId)?.early.length ?? 0) > 0;
  }

  /** A text that was loaded takes the place of what was announced; answers whether that is another one. */
  recover(sessionId: string, life: string, { messageId, text }: StreamingText): boolean {
    const known = this.#bySession.get(sessionId);
    const isSame = known?.life === life && known.messageId === messageId;
    if (isSame && known.text === text) return false;
    const streaming = { life, messageId, text, epoch: known?.epoch ?? 0, early: isSame ? known.early : [] };
    this.#bySession.set(sessionId, streaming);
    takeEarly(streaming);
    return true;
  }

  /** As `recover`, of a text that streams elsewhere: what was announced may be ahead of it, and then it stays. */
  mend(sessionId: string, life: string, read: StreamingText): boolean {
    const known = this.#bySession.get(sessionId);
    const isSame = known?.life === life && known.messageId === read.messageId;
    if (isSame && known.text.startsWith(read.text)) return false;
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
    if (streaming?.life === note.life) streaming.epoch = Math.max(streaming.epoch, note.epoch);
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
        early: [],
      });
    } else if (this.#bySession.get(sessionId)?.messageId === message.id) {
      this.#bySession.delete(sessionId);
    }
  }
}

function takeDelta(streaming: Streaming | undefined, delta: Delta): Heard {
  if (streaming?.messageId !== delta.messageId) return "gap";
  if (delta.epoch < streaming.epoch) return "old";
  streaming.epoch = delta.epoch;
  if (streaming.early.length === 0 && grow(streaming, delta)) return "taken";
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
