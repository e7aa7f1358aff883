// The clients' certain knowledge of one session: messages sent, messages acknowledged, and their order.
// Moments are increasing numbers, so that "answered before sent" is decidable.

import type { Message } from "@colloquy/protocol";
import { CallLedger } from "./call-ledger.ts";

export interface SentMessage {
  /** Text of the message, unique within the run. */
  readonly text: string;
  /** Moment of the first attempt. */
  readonly sent: number;
  /** Moment of the accepting answer; `null` while unknown. */
  acknowledged: number | null;
  /** True if the server reported the message as not stored, so that it must never appear. */
  refused: boolean;
}

/** A field that was set; `value` is `undefined` while a change is pending. */
export interface Setting {
  readonly value: unknown;
  readonly since: number;
}

/** A message that must not change any more, as it was last seen. */
export interface SealedMessage {
  readonly message: Message;
  readonly since: number;
}

let lastMoment = 0;

/** Returns a new moment, later than all before in any session. */
export function nextMoment(): number {
  lastMoment += 1;
  return lastMoment;
}

/** One incarnation of a session, independent of earlier ones. */
export class IncarnationLedger {
  /** Earlier incarnations. */
  readonly formerIncarnations: ReadonlySet<string>;
  readonly sent = new Map<string, SentMessage>();
  readonly settings = new Map<"title" | "user_state", Setting>();
  readonly sealed = new Map<string, SealedMessage>();
  /** Calls that ran in the clients. */
  readonly calls = new CallLedger();
  /** Ids of messages that an acknowledged edit has removed. */
  readonly removed = new Set<string>();
  /** The incarnation part of event ids, once an id was seen. */
  incarnation: string | null = null;

  constructor(formerIncarnations: ReadonlySet<string>) {
    this.formerIncarnations = formerIncarnations;
  }

  /** Returns a new moment, later than all before. */
  now(): number {
    return nextMoment();
  }

  /** Messages with an unknown outcome. */
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

  /** Records the final parts of a snapshot: answers that ended, and interrupted messages. */
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

  /**
   * Records that an edit has removed the message `from` and all later messages of `shown`. They must not
   * appear again.
   */
  remove(shown: readonly Message[], from: string): void {
    const at = shown.findIndex(({ id }) => id === from);
    const [kept, removed] = [shown.slice(0, at), shown.slice(at)];
    this.calls.forget(removed);
    for (const { id, content } of removed) {
      this.removed.add(id);
      this.sealed.delete(id);
      this.sent.delete(content);
    }
    // The edit interrupts an agent message whose continuation it removes. Snapshots may have omitted the
    // empty continuation.
    for (const messages of Map.groupBy(kept, ({ turn }) => turn).values()) {
      const last = messages.findLast(({ sender }) => sender === "agent");
      if (last?.steps?.to !== undefined) this.sealed.delete(last.id);
    }
  }

  /** Records the messages and settings that an acknowledged copy has, none of which may change. */
  static ofCopy(messages: readonly Message[], origin: IncarnationLedger): IncarnationLedger {
    const ledger = new IncarnationLedger(new Set());
    for (const { sender, content } of messages) {
      if (sender === "user") ledger.send(content).acknowledged = ledger.now();
    }
    for (const [name, { value }] of origin.settings)
      ledger.settings.set(name, { value, since: ledger.now() });
    ledger.seal(messages);
    return ledger;
  }

  /** Returns the ledger of the incarnation after a delete. */
  next(): IncarnationLedger {
    return new IncarnationLedger(
      new Set([...this.formerIncarnations, ...(this.incarnation === null ? [] : [this.incarnation])]),
    );
  }
}
