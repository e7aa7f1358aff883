// What the clients of one session know for certain: what they sent, what was acknowledged, and in which order. Moments are
// numbers that only grow, so that "was answered before that was sent" can be decided.

import type { Message } from "@colloquy/protocol";

export interface SentMessage {
  /** Different from every other message of the run. */
  readonly text: string;
  /** Moment of the first attempt. */
  readonly sent: number;
  /** Moment of the answer that accepted it; `null` while nobody knows. */
  acknowledged: number | null;
  /** Whether the server said that it did not store it: then it must never be seen. */
  refused: boolean;
}

/** A field that was set on purpose; `value` is `undefined` while a request that changes it is under way. */
export interface Setting {
  readonly value: unknown;
  readonly since: number;
}

/** A message that will not change any more, as it was seen then. */
export interface SealedMessage {
  readonly message: Message;
  readonly since: number;
}

/** One life of a session: what was before a delete is none of its business. */
export class LifeLedger {
  /** Lives that ended before this one. */
  readonly formerLives: ReadonlySet<string>;
  readonly sent = new Map<string, SentMessage>();
  readonly settings = new Map<"title" | "user_state", Setting>();
  readonly sealed = new Map<string, SealedMessage>();
  /** First half of the life's event ids, once one was seen. */
  life: string | null = null;
  #moment = 0;

  constructor(formerLives: ReadonlySet<string>) {
    this.formerLives = formerLives;
  }

  /** A new moment, later than all before. */
  now(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /** Messages of which nobody knows whether they were stored. */
  get doubts(): number {
    const inDoubt = [...this.sent.values()].filter(
      ({ acknowledged, refused }) => acknowledged === null && !refused,
    );
    return inDoubt.length;
  }

  send(text: string): SentMessage {
    const message: SentMessage = { text, sent: this.now(), acknowledged: null, refused: false };
    this.sent.set(text, message);
    return message;
  }

  /** Remembers what a snapshot showed as final: answers of the assistant that ended, and messages that were interrupted. */
  seal(messages: readonly Message[]): void {
    const since = this.now();
    for (const message of messages) {
      const final =
        message.status === "interrupted" ||
        message.status === "failed" ||
        (message.sender === "agent" && message.status === "complete");
      if (final && !this.sealed.has(message.id)) this.sealed.set(message.id, { message, since });
    }
  }

  /** The life that follows a delete. */
  next(): LifeLedger {
    return new LifeLedger(new Set([...this.formerLives, ...(this.life === null ? [] : [this.life])]));
  }
}
