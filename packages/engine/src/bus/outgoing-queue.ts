// A bounded queue of notifications to other nodes: when the bus is down, memory stays bounded and no event is lost.

import type { SessionNotification } from "../core/ports/driven/bus.ts";
import { toMovedHint, encodeNotification } from "./notification-encoding.ts";
import type { Packet } from "../core/ports/driven/transport.ts";

interface Waiting {
  readonly sessionId: string;
  notification: SessionNotification;
  /** Encoded events, needed for their size anyway; `null` for notifications that may still be joined. */
  readonly text: string | null;
  /** Approximate memory of the entry. */
  bytes: number;
}

/** Kind of notifications that a full queue dropped; `broken` if the connection broke during a send. */
export type NotificationLoss = "deltas" | "events" | "all" | "broken";

export interface OutgoingQueueOptions {
  readonly maxBytes: number;
  /** Called with the number of notifications that were lost or replaced by hints. */
  readonly onLoss: (loss: NotificationLoss, notifications: number) => void;
}

/** Approximate memory of an entry besides its text. */
const ENTRY_BYTES = 200;

export class OutgoingQueue {
  readonly #options: OutgoingQueueOptions;
  #waiting: Waiting[] = [];
  /** The last queued notification of each session, to which the next one may be joined. */
  readonly #last = new Map<string, Waiting>();
  #bytes = 0;

  constructor(options: OutgoingQueueOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Approximate size of the queue in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  add(sessionId: string, notification: SessionNotification): void {
    this.#keep(sessionId, notification);
    if (this.#bytes > this.#options.maxBytes) this.#shrink();
  }

  /** Removes about `batchBytes` from the front of the queue, as texts of at most `maxBytes` UTF-8 bytes each. */
  take(batchBytes: number, maxBytes: number): readonly Packet[] {
    const packets: Packet[] = [];
    let taken = 0;
    let bytes = 0;
    for (const waiting of this.#waiting) {
      if (bytes >= batchBytes) break;
      const { sessionId, notification, text: known } = waiting;
      for (const text of encodeNotification(notification, maxBytes, known ?? JSON.stringify(notification)))
        packets.push({ sessionId, text });
      if (this.#last.get(sessionId) === waiting) this.#last.delete(sessionId);
      bytes += waiting.bytes;
      taken += 1;
    }
    this.#waiting.splice(0, taken);
    this.#bytes -= bytes;
    return packets;
  }

  /**
   * Drops streamed text first, because the store has it within 250 ms, or asking again brings it; then replaces
   * events with hints; then drops everything. Shrinks to half, so that it does not run again for each new notification.
   */
  #shrink(): void {
    const enough = this.#options.maxBytes / 2;
    this.#replace("deltas", (notification) => (isText(notification) ? null : notification));
    if (this.#bytes > enough)
      this.#replace("events", (notification) =>
        notification.kind === "events" ? toMovedHint(notification) : notification,
      );
    if (this.#bytes > enough) this.#replace("all", () => null);
  }

  #replace(
    loss: NotificationLoss,
    replacement: (notification: SessionNotification) => SessionNotification | null,
  ): void {
    const before = this.#waiting;
    this.#waiting = [];
    this.#last.clear();
    this.#bytes = 0;
    let lost = 0;
    for (const { sessionId, notification } of before) {
      const kept = replacement(notification);
      if (kept !== notification) lost += 1;
      if (kept !== null) this.#keep(sessionId, kept);
    }
    if (lost > 0) this.#options.onLoss(loss, lost);
  }

  #keep(sessionId: string, notification: SessionNotification): void {
    const last = this.#last.get(sessionId);
    const joined = last === undefined ? null : join(last.notification, notification);
    if (last !== undefined && joined !== null) {
      const grown = Buffer.byteLength(textOf(notification));
      last.notification = joined;
      last.bytes += grown;
      this.#bytes += grown;
      return;
    }
    const text = notification.kind === "events" ? JSON.stringify(notification) : null;
    const kept = {
      sessionId,
      notification,
      text,
      bytes: ENTRY_BYTES + Buffer.byteLength(text ?? textOf(notification)),
    };
    this.#waiting.push(kept);
    this.#last.set(sessionId, kept);
    this.#bytes += kept.bytes;
  }
}

/** Returns both notifications as one, or `null` if they must be sent separately. */
function join(first: SessionNotification, second: SessionNotification): SessionNotification | null {
  if (first.incarnation !== second.incarnation) return null;
  if (first.kind === "moved" && second.kind === "moved") return second;
  if (!isText(first) || !isText(second)) return null;
  const follows =
    stepOf(first) === stepOf(second) &&
    first.epoch === second.epoch &&
    first.messageId === second.messageId &&
    first.offset + first.text.length === second.offset;
  return follows ? { ...first, text: first.text + second.text } : null;
}

type TextNotification = Extract<SessionNotification, { readonly kind: "delta" | "reasoning" }>;

function isText(notification: SessionNotification): notification is TextNotification {
  return notification.kind === "delta" || notification.kind === "reasoning";
}

/** Returns the step of reasoning; `null` for the text of a message. */
function stepOf(notification: TextNotification): number | null {
  return notification.kind === "reasoning" ? notification.step : null;
}

function textOf(notification: SessionNotification): string {
  return isText(notification) ? notification.text : "";
}
