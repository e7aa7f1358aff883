// The feed's state of a session with open streams, and its transitions.

import type { Following, SessionNotification } from "../core/ports/driven/bus.ts";
import { appAfter, type NumberedEvent } from "../core/session-event.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { deltaText, eventText, wholeMessageText } from "./event-text.ts";
import type { Channel, Subscriber } from "./subscriber.ts";
import type { StreamingText } from "../core/ports/driven/event-hub.ts";

export interface FeedChannel extends Channel {
  /** The newest known incarnation, to which `head` refers. */
  life: string;
  /** The App that the session belongs to in that incarnation. */
  app: string;
  readonly subscribers: Set<Subscriber>;
  /** Number of streams that are open or being opened. */
  streams: number;
  /** Incarnations that ended while a stream was being opened. */
  readonly ended: Set<string>;
  /** Subscription to the notifications of other nodes, held while a stream is open. */
  readonly following: Following;
}

/**
 * Advances the head. A new incarnation restarts the numbering; events of an ended incarnation are ignored.
 */
export function advanceHead(
  channel: FeedChannel,
  { life, head, app }: { readonly life: string; readonly head: number; readonly app: string | null },
): void {
  if (channel.ended.has(life)) return;
  const isSame = channel.life === life;
  channel.head = isSame ? Math.max(channel.head, head) : head;
  // A session joins an App at most once; an older notification must not undo that.
  if (!isSame) channel.app = app ?? DEFAULT_APP;
  else if (app !== null && app !== DEFAULT_APP) channel.app = app;
  channel.life = life;
}

/** Returns the incarnations of the open streams, and the newest known one. */
export function incarnationsOf({ life, subscribers }: FeedChannel): readonly string[] {
  const incarnations = new Set([...subscribers].map(({ source }) => source.life));
  return [...(life === "" ? incarnations : incarnations.add(life))];
}

/**
 * Returns true if this node missed earlier events: the start of a new incarnation, or numbers between head
 * and notification.
 */
export function hasGapBefore(
  { life, head }: FeedChannel,
  notification: Extract<SessionNotification, { kind: "events" }>,
): boolean {
  if (life === "") return false;
  return life !== notification.life || (notification.events[0]?.number ?? 0) > head + 1;
}

/** Sends streaming text to the subscribers of its incarnation. */
export function publishDelta(
  channel: FeedChannel,
  notification: Omit<Extract<SessionNotification, { kind: "delta" }>, "kind" | "epoch">,
): void {
  let text: Buffer | null = null;
  for (const subscriber of channel.subscribers) {
    if (subscriber.source.life !== notification.life) continue;
    text ??= deltaText(subscriber.source, {
      message_id: notification.messageId,
      offset: notification.offset,
      text: notification.text,
    });
    subscriber.grow(text);
  }
}

/** Sends the whole streaming message to the subscribers of the current incarnation. */
export function showWhole({ life, subscribers }: FeedChannel, streaming: StreamingText): void {
  for (const subscriber of subscribers)
    if (subscriber.source.life === life) subscriber.grow(wholeMessageText(subscriber.source, streaming));
}

/** Sends announced events to the subscribers of their incarnation. */
export function publishEvents(channel: FeedChannel, life: string, events: readonly NumberedEvent[]): void {
  advanceHead(channel, { life, head: events.at(-1)?.number ?? 0, app: appAfter(events) });
  const texts = new Map<string, Buffer | null>();
  for (const subscriber of channel.subscribers) {
    if (subscriber.source.life !== life || !subscriber.verifyAccess(channel.app)) continue;
    const groups = [...subscriber.included].join();
    subscriber.announce(events, (event) => {
      const key = `${event.number} ${groups}`;
      let text = texts.get(key);
      if (text === undefined) {
        text = eventText(subscriber.source, event, subscriber.included);
        texts.set(key, text);
      }
      return text;
    });
  }
}
