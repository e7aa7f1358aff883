// The text of the answer that streams in a session: that of its finished steps, which is committed, and what follows of the current one.

import { joinStepText } from "../core/message.ts";
import type { StreamingText } from "../core/ports/driven/event-hub.ts";
import type { Snapshot } from "./snapshot.ts";

/** Text that was added to a message, `offset` characters behind its beginning. */
export type Growth = Pick<StreamingText, "messageId" | "text"> & { readonly offset: number };

export class AnswerText {
  readonly #snapshot: Snapshot;
  /** Text of the running turn's finished steps; what streams now follows it. */
  #committed = "";
  /** Characters that the running turn had said of its step when that grew here last; `null` before it did. */
  #said: number | null = null;
  /** Which of the store's texts is shown of a step that streams elsewhere; `null` before one was read. */
  #mark: string | null = null;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  get mark(): string | null {
    return this.#mark;
  }

  /** The agent message that streams now, with its whole text. */
  get streaming(): StreamingText | null {
    const answer = this.#snapshot.streaming();
    return answer === null ? null : { messageId: answer.message.id, text: answer.message.content, answer };
  }

  /** A step has ended, or an answer has begun, with this text. */
  commit(text: string): void {
    this.#committed = text;
    // The next step may be as long as the one before was, and its text must not be taken for that one's.
    this.#mark = null;
  }

  /**
   * Text that the model adds to `before`, which it has said of the current step of this message so far. Answers what readers are to be
   * sent: where something else was shown, because the session was loaded in the middle of the step, that is all of the step's text.
   */
  grow(messageId: string, before: string, delta: string): Growth | null {
    const message = this.#snapshot.streamingMessage();
    // Whoever still speaks of an answer that is over must not be heard in the next one.
    if (message?.id !== messageId) return null;
    const goesOn = this.#said === before.length;
    const shown = goesOn ? message.content : this.#committed;
    const added = goesOn ? delta : before + delta;
    const offset = shown.length;
    // The step's first text is set apart from that of the steps before.
    const text =
      offset === this.#committed.length ? joinStepText(this.#committed, added).slice(offset) : added;
    this.#snapshot.replaceMessage({ ...message, content: shown + text });
    this.#said = before.length + delta.length;
    return { messageId: message.id, offset, text };
  }

  /** Where the next text belongs is not known yet: when it is, all of the step's text is shown. */
  interrupt(): void {
    this.#said = null;
  }

  /** The store has this text of the current step, under this mark: it is shown in place of what was. */
  show(text: string, mark: string): void {
    this.#mark = mark;
    this.#said = null;
    const message = this.#snapshot.streamingMessage();
    if (message === null) return;
    this.#snapshot.replaceMessage({ ...message, content: joinStepText(this.#committed, text) });
  }

  /** The session was loaded: an answer shows what the store has of it beyond its finished steps, until its turn goes on. */
  resume(checkpointed: string): void {
    const message = this.#snapshot.streamingMessage();
    if (message === null) return;
    this.#committed = message.content;
    this.#snapshot.replaceMessage({ ...message, content: joinStepText(message.content, checkpointed) });
  }
}
