// What the feed keeps of a session while somebody reads it, and how that moves on.

import type { Following, SessionNote } from "../core/ports/bus.ts";
import { appAfter, type NumberedEvent } from "../core/session-event.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { deltaText, eventText } from "./event-text.ts";
import type { Channel, Reader } from "./reader.ts";

export interface FeedChannel extends Channel {
  /** The life that `head` counts in: the last one that was heard of. */
  life: string;
  /** The App that the session counts as in that life. */
  app: string;
  readonly readers: Set<Reader>;
  /** Streams that are open or being opened. */
  streams: number;
  /** Lives that ended while a stream was being opened. */
  readonly ended: Set<string>;
  /** What is committed elsewhere is heard of, as long as somebody reads. */
  readonly following: Following;
}

/** Lives follow each other, so what is said of another life than before begins to count anew; but one that has ended is over. */
export function moveHead(
  channel: FeedChannel,
  { life, head, app }: { readonly life: string; readonly head: number; readonly app: string | null },
): void {
  if (channel.ended.has(life)) return;
  const isSame = channel.life === life;
  channel.head = isSame ? Math.max(channel.head, head) : head;
  // A session comes to an App once: what was heard of it before does not take it back.
  if (!isSame) channel.app = app ?? DEFAULT_APP;
  else if (app !== null && app !== DEFAULT_APP) channel.app = app;
  channel.life = life;
}

/** The lives that its readers read, and the one that is known now. */
export function livesIn({ life, readers }: FeedChannel): readonly string[] {
  const lives = new Set([...readers].map(({ source }) => source.life));
  return [...(life === "" ? lives : lives.add(life))];
}

/** Whether something was missed before these events: a life's beginning, or events of the one that is known. */
export function isBehind(
  { life, head }: FeedChannel,
  note: Extract<SessionNote, { kind: "events" }>,
): boolean {
  if (life === "") return false;
  return life !== note.life || (note.events[0]?.number ?? 0) > head + 1;
}

/** Sends text that streams to the readers of its life. */
export function growReaders(
  channel: FeedChannel,
  note: Omit<Extract<SessionNote, { kind: "delta" }>, "kind" | "epoch">,
): void {
  let text: Buffer | null = null;
  for (const reader of channel.readers) {
    if (reader.source.life !== note.life) continue;
    text ??= deltaText(reader.source, { message_id: note.messageId, offset: note.offset, text: note.text });
    reader.grow(text);
  }
}

/** Sends events that were announced to the readers of their life. */
export function announceTo(channel: FeedChannel, life: string, events: readonly NumberedEvent[]): void {
  moveHead(channel, { life, head: events.at(-1)?.number ?? 0, app: appAfter(events) });
  const texts = new Map<string, Buffer | null>();
  for (const reader of channel.readers) {
    if (reader.source.life !== life || !reader.mayShow(channel.app)) continue;
    const groups = [...reader.included].join();
    reader.announce(events, (event) => {
      const key = `${event.number} ${groups}`;
      let text = texts.get(key);
      if (text === undefined) {
        text = eventText(reader.source, event, reader.included);
        texts.set(key, text);
      }
      return text;
    });
  }
}
