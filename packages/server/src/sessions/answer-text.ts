// The text of the streaming answer of a session: the committed text of its finished steps, then that of the current step.

import { joinStepText } from "../core/message.ts";
import type { StreamingText } from "../core/ports/driven/event-hub.ts";
import type { Snapshot } from "./snapshot.ts";

/** Text added to a message at `offset`. */
export type Growth = Pick<StreamingText, "messageId" | "text"> & { readonly offset: number };

export class AnswerText {
  readonly #snapshot: Snapshot;
  /** Text of the running turn's finished steps. */
  #committed = "";
  /** Length of the current step when it grew last; `null` before that. */
  #said: number | null = null;
  /** Mark of the text that was read from the store for a turn in another process; `null` before a read. */
  #mark: string | null = null;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  get mark(): string | null {
    return this.#mark;
  }

  /** The streaming agent message with its whole text. */
  get streaming(): StreamingText | null {
    const answer = this.#snapshot.streaming();
    return answer === null ? null : { messageId: answer.message.id, text: answer.message.content, answer };
  }

  /** Sets the text of the finished steps. */
  commit(text: string): void {
    this.#committed = text;
    // The next step may have the same length as this one, and thus the same mark.
    this.#mark = null;
  }

  /**
   * Adds `delta` to the current step, whose text so far is `before`. Returns the change for subscribers: the whole text of the step if the
   * session was loaded in the middle of it. Returns `null` if the message does not stream.
   */
  grow(messageId: string, before: string, delta: string): Growth | null {
    const message = this.#snapshot.streamingMessage();
    // Ignore deltas of an earlier answer.
    if (message?.id !== messageId) return null;
    const goesOn = this.#said === before.length;
    const shown = goesOn ? message.content : this.#committed;
    const added = goesOn ? delta : before + delta;
    const offset = shown.length;
    // A blank line separates the steps.
    const text =
      offset === this.#committed.length ? joinStepText(this.#committed, added).slice(offset) : added;
    this.#snapshot.replaceMessage({ ...message, content: shown + text });
    this.#said = before.length + delta.length;
    return { messageId: message.id, offset, text };
  }

  /** Makes the next `grow` show the whole text of the step, because its offset is unknown until then. */
  interrupt(): void {
    this.#said = null;
  }

  /** Replaces the text of the current step with one from the store. */
  show(text: string, mark: string): void {
    this.#mark = mark;
    this.#said = null;
    const message = this.#snapshot.streamingMessage();
    if (message === null) return;
    this.#snapshot.replaceMessage({ ...message, content: joinStepText(this.#committed, text) });
  }

  /** Shows the checkpointed text of a loaded session until its turn goes on. */
  resume(checkpointed: string): void {
    const message = this.#snapshot.streamingMessage();
    if (message === null) return;
    this.#committed = message.content;
    this.#snapshot.replaceMessage({ ...message, content: joinStepText(message.content, checkpointed) });
  }
}
