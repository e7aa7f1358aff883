// A session with open event streams: the known head of its event log, and its subscribers. The streams of a
// session share one channel, because ten thousand may be open.

import type { Following, SessionNotification } from "../core/ports/driven/bus.ts";
import type { StreamingText } from "../core/ports/driven/event-hub.ts";
import { appAfter, type NumberedEvent, ownerAfter } from "../core/session-event.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { deltaFrame, eventFrame, wholeMessageFrame } from "./event-frames.ts";
import type { StreamingTexts } from "./streaming-texts.ts";
import type { Subscriber, SubscriberChannel } from "./subscriber.ts";

interface Advance {
  readonly incarnation: string;
  readonly head: number;
  /** The session's new App; `null` if unchanged. */
  readonly app: string | null;
  /** The session's new owner; `undefined` if unchanged. */
  readonly owner: string | null | undefined;
}

export class Channel implements SubscriberChannel {
  readonly sessionId: string;
  /** Subscription to the notifications of other nodes, held while a stream is open. */
  readonly following: Following;
  readonly subscribers = new Set<Subscriber>();
  /** Number of streams that are open or being opened. */
  streams = 0;
  /** The newest known incarnation, to which `head`, `app` and `owner` refer. */
  incarnation = "";
  head = 0;
  app = DEFAULT_APP;
  owner: string | null = null;
  readonly #texts: StreamingTexts;
  /** Incarnations that ended while a stream was being opened. */
  readonly #ended = new Set<string>();

  constructor(sessionId: string, following: Following, texts: StreamingTexts) {
    this.sessionId = sessionId;
    this.following = following;
    this.#texts = texts;
  }

  streaming(incarnation: string): StreamingText | null {
    return this.#texts.get(this.sessionId, incarnation);
  }

  /**
   * Returns the newest known incarnation, and older ones that still have open streams because their deletion
   * was not announced.
   */
  get incarnations(): readonly string[] {
    const incarnations = new Set([...this.subscribers].map(({ source }) => source.incarnation));
    return [...(this.incarnation === "" ? incarnations : incarnations.add(this.incarnation))];
  }

  hasEnded(incarnation: string): boolean {
    return this.#ended.has(incarnation);
  }

  /** Returns true if a position read from the store is older than the announced head. */
  isPast({ incarnation, head }: Pick<Advance, "incarnation" | "head">): boolean {
    return this.incarnation === incarnation && head < this.head;
  }

  /** Returns true if every event of the notification is already known. */
  isKnown(notification: SessionNotification): boolean {
    return (
      notification.kind === "events" &&
      notification.incarnation === this.incarnation &&
      (notification.events.at(-1)?.number ?? 0) <= this.head
    );
  }

  /** Returns true if this node missed the start of a new incarnation, or events between the head and the announced ones. */
  hasGapBefore(incarnation: string, events: readonly NumberedEvent[]): boolean {
    if (this.incarnation === "") return false;
    return this.incarnation !== incarnation || (events[0]?.number ?? 0) > this.head + 1;
  }

  /**
   * Advances the head, which must not be ahead of this. A new incarnation restarts the numbering; events of an ended incarnation are
   * ignored.
   */
  advance({ incarnation, head, app, owner }: Advance): void {
    if (this.#ended.has(incarnation)) return;
    const isNew = this.incarnation !== incarnation;
    if (isNew || app !== null) this.app = app ?? DEFAULT_APP;
    if (isNew || owner !== undefined) this.owner = owner ?? null;
    this.head = head;
    this.incarnation = incarnation;
  }

  /** Sends announced events to the subscribers of their incarnation. */
  sendEvents(incarnation: string, events: readonly NumberedEvent[]): void {
    const head = events.at(-1)?.number ?? 0;
    this.advance({ incarnation, head, app: appAfter(events), owner: ownerAfter(events) });
    const texts = new Map<string, Buffer | null>();
    for (const subscriber of this.subscribers) {
      if (subscriber.source.incarnation !== incarnation || !subscriber.verifyAccess(this)) continue;
      const groups = [...subscriber.included].join();
      subscriber.announce(events, (event) => {
        const key = `${event.number} ${groups}`;
        let text = texts.get(key);
        if (text === undefined) {
          text = eventFrame(subscriber.source, event, subscriber.included);
          texts.set(key, text);
        }
        return text;
      });
    }
  }

  /** Sends streaming text to the subscribers of its incarnation. */
  sendDelta(delta: Extract<SessionNotification, { kind: "delta" }>): void {
    const { incarnation, messageId, offset, text } = delta;
    let bytes: Buffer | null = null;
    for (const subscriber of this.subscribers) {
      if (subscriber.source.incarnation !== incarnation) continue;
      bytes ??= deltaFrame(subscriber.source, { message_id: messageId, offset, text });
      subscriber.writeDelta(bytes);
    }
  }

  /** Sends the whole streaming text to subscribers that have caught up. The others receive it when they do. */
  sendText(): void {
    const streaming = this.streaming(this.incarnation);
    if (streaming === null) return;
    for (const subscriber of this.subscribers)
      if (subscriber.source.incarnation === this.incarnation)
        subscriber.writeDelta(wholeMessageFrame(subscriber.source, streaming));
  }

  /** Makes subscribers with access replay events that were committed but not announced. */
  catchUp(): void {
    for (const subscriber of this.subscribers)
      if (subscriber.source.incarnation === this.incarnation && subscriber.verifyAccess(this))
        subscriber.catchUp();
  }

  /** Ends the streams of a deleted incarnation. */
  end(incarnation: string): void {
    this.#ended.add(incarnation);
    for (const subscriber of this.subscribers)
      if (subscriber.source.incarnation === incarnation) subscriber.finishDeleted();
  }
}
