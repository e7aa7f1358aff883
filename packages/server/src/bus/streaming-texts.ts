import type { Message } from "@colloquy/protocol";
import type { SessionNote } from "../core/ports/bus.ts";

/** The agent messages that stream now, one a session at most, with all their text: what a new reader is sent first. */
export class StreamingTexts {
  readonly #bySession = new Map<
    string,
    { readonly life: string; readonly messageId: string; text: string }
  >();

  get(sessionId: string): { readonly messageId: string; readonly text: string } | null {
    return this.#bySession.get(sessionId) ?? null;
  }

  /** A text that was loaded takes the place of what was announced; answers whether that is another one. */
  recover(
    sessionId: string,
    life: string,
    { messageId, text }: { readonly messageId: string; readonly text: string },
  ): boolean {
    const known = this.#bySession.get(sessionId);
    if (known?.life === life && known.messageId === messageId && known.text === text) return false;
    this.#bySession.set(sessionId, { life, messageId, text });
    return true;
  }

  /** How many sessions' texts are held. */
  get size(): number {
    return this.#bySession.size;
  }

  release(sessionId: string): void {
    this.#bySession.delete(sessionId);
  }

  take(sessionId: string, note: SessionNote): void {
    if (note.kind === "deleted") {
      if (this.#bySession.get(sessionId)?.life === note.life) this.#bySession.delete(sessionId);
    } else if (note.kind === "delta") {
      const streaming = this.#bySession.get(sessionId);
      if (streaming?.messageId !== note.messageId || note.offset > streaming.text.length) return;
      streaming.text =
        note.offset === streaming.text.length
          ? streaming.text + note.text
          : streaming.text.slice(0, note.offset) + note.text;
    } else if (note.kind === "events") {
      for (const { event } of note.events) {
        if (event.type === "system_notice" || !("message" in event)) continue;
        // An answer that was let go of may change while it waits; whoever goes on with it loads it, and it is recovered.
        if (event.type === "message_updated" && !this.#bySession.has(sessionId)) continue;
        this.#follow(sessionId, note.life, event.message);
      }
    }
  }

  #follow(sessionId: string, life: string, message: Message): void {
    if (message.status === "streaming") {
      this.#bySession.set(sessionId, { life, messageId: message.id, text: message.content });
    } else if (this.#bySession.get(sessionId)?.messageId === message.id) {
      this.#bySession.delete(sessionId);
    }
  }
}
