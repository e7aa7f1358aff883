// The event channel: readers of sessions, fed by what is announced on the bus and, for what lies behind, by the store. It never
// touches a live session.

import { parseEventId } from "../core/event-id.ts";
import { ServiceError, Unavailable } from "../core/errors.ts";
import type { Bus, SessionNote } from "../core/ports/bus.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";
import type { EventStore } from "../core/ports/event-store.ts";
import type {
  AdmitNewSession,
  OpenStream,
  StreamRequest,
  StreamSink,
  UpdateService,
} from "../core/ports/services.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { eventText, RETRY_TEXT, resyncText, type EventSource } from "./event-text.ts";
import { appAfter, growReaders, moveHead, type FeedChannel } from "./feed-channel.ts";
import { Reader } from "./reader.ts";
import { StreamingTexts } from "./streaming-texts.ts";

const HEARTBEAT_MS = 15_000;
/** Heartbeats go out in slices, or ten thousand of them would hold the event loop for a tenth of a second. */
const HEARTBEAT_SLICE = 200;
/**
 * An open stream counts as use of its session (contract section 1). Noted this often, which is within the five minutes that cleanup allows
 * for use that is not noted yet: so no session expires that is being read, however short its expiry is.
 */
const NOTE_USE_MS = 4 * 60_000;
/** How often the keys of open streams are looked at again. With the two seconds that a check may be old, a revoked key has ended in five. */
const KEY_CHECK_MS = 2_000;
/** Sessions whose use is noted in one transaction, so that ten thousand hold nobody up. */
const NOTE_USE_PORTION = 500;

export interface FeedOptions {
  readonly bus: Bus;
  readonly events: EventStore;
  readonly clock: Clock;
  /** Makes the session exist and answers where its log stands. */
  readonly ensure: (
    sessionId: string,
    admit: AdmitNewSession,
  ) => Promise<{ readonly life: string; readonly head: number; readonly app: string }>;
  /** Notes that these sessions are in use. */
  readonly touch: (used: readonly { readonly id: string; readonly life: string }[]) => Promise<unknown>;
  /** Streams that one session may have open at once; `null` for any number. */
  readonly maxStreamsPerSession: number | null;
}

export class Feed implements UpdateService {
  readonly #options: FeedOptions;
  readonly #channels = new Map<string, FeedChannel>();
  readonly #texts = new StreamingTexts();
  readonly #timers: readonly Timer[];
  readonly #stopListening: () => void;
  #stopped = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#stopListening = options.bus.listen({ onNote: (sessionId, note) => this.#take(sessionId, note) });
    this.#timers = [
      options.clock.every(HEARTBEAT_MS, () => this.#beat()),
      options.clock.every(NOTE_USE_MS, () => void this.noteUse()),
      options.clock.every(KEY_CHECK_MS, () => void this.checkKeys()),
    ];
  }

  /** Streams that are open now. */
  get openStreams(): number {
    let count = 0;
    for (const channel of this.#channels.values()) count += channel.readers.size;
    return count;
  }

  /** Sessions of which text is held. */
  get heldTexts(): number {
    return this.#texts.size;
  }

  async open(request: StreamRequest, sink: StreamSink, admit: AdmitNewSession): Promise<OpenStream> {
    if (this.#stopped)
      throw new Unavailable(503, "stopping", "The service is being stopped. Connect again shortly.", 2);
    const channel = this.#join(request.sessionId);
    try {
      const position = await this.#options.ensure(request.sessionId, admit);
      moveHead(channel, position);
      const source: EventSource = { sessionId: request.sessionId, life: position.life };
      const after = await this.#place(source, request.lastEventId, position.head);
      sink.write(RETRY_TEXT);
      if (after === null) sink.write(resyncText(source, channel.head));
      const reader = new Reader({
        source,
        included: request.include,
        access: request.access,
        channel,
        sink,
        events: this.#options.events,
        after: after ?? channel.head,
        onEnd: () => this.#leave(channel, reader),
      });
      channel.readers.add(reader);
      if (channel.ended.has(position.life)) reader.finishDeleted();
      else if (this.#stopped) reader.finishStopped();
      else if (reader.mayShow(channel.app)) void reader.replay();
      return { close: () => reader.end("abort") };
    } catch (error) {
      this.#leave(channel, null);
      throw error;
    }
  }

  /** Ends every stream with a `retry`, after which its client comes back. */
  stop(): void {
    this.#stopped = true;
    this.#stopListening();
    for (const timer of this.#timers) timer.stop();
    for (const channel of this.#channels.values())
      for (const reader of channel.readers) reader.finishStopped();
  }

  /**
   * A session was loaded in the middle of an answer that nobody here works on, after a crash for example: readers are sent what its
   * snapshot shows, in place of what they had of it.
   */
  recover(
    sessionId: string,
    life: string,
    streaming: { readonly messageId: string; readonly text: string },
  ): void {
    const channel = this.#channels.get(sessionId);
    const isNews = this.#texts.recover(sessionId, life, streaming);
    if (isNews && channel !== undefined) growReaders(channel, { life, offset: 0, ...streaming });
  }

  /** A session has left memory, and nobody works on it: its text is held no longer. `recover` brings it back when it is loaded. */
  release(sessionId: string): void {
    this.#texts.release(sessionId);
  }

  /** Notes the use of every session that is being read. Never rejects: what fails now is noted the next time. */
  async noteUse(): Promise<void> {
    const used: { readonly id: string; readonly life: string }[] = [];
    for (const { sessionId: id, life, readers } of this.#channels.values()) {
      if (readers.size > 0) used.push({ id, life });
    }
    for (let from = 0; from < used.length && !this.#stopped; from += NOTE_USE_PORTION) {
      await this.#options.touch(used.slice(from, from + NOTE_USE_PORTION)).catch(() => undefined);
    }
  }

  /** Ends the streams whose key is not good any more. Never rejects: a key that cannot be looked at now is looked at the next time. */
  async checkKeys(): Promise<void> {
    const keyed: Promise<void>[] = [];
    for (const channel of this.#channels.values()) {
      for (const reader of channel.readers) {
        const { refresh } = reader.access;
        const check = (): void => {
          if (!this.#stopped) reader.mayShow(channel.app);
        };
        if (refresh === null) check();
        else keyed.push(refresh().then(check, check));
      }
    }
    await Promise.all(keyed);
  }

  /** The number after which a stream begins, `null` when the client has to fetch the snapshot again. */
  async #place(source: EventSource, lastEventId: string | null, head: number): Promise<number | null> {
    if (lastEventId === null) return head;
    const id = lastEventId === "0" ? { life: source.life, n: 0 } : parseEventId(lastEventId);
    if (id === null || id.life !== source.life || id.n > head) return null;
    if (id.n === head) return head;
    const page = await this.#options.events.after(source.sessionId, id.n, 0);
    // A life that ended meanwhile is not a place that was lost: its stream is about to be told that the session is deleted.
    const isOver = page === null || page.life !== source.life;
    return isOver || page.floor <= id.n ? id.n : null;
  }

  /** Joins before the session is looked up, so that nothing announced from now on is missed. */
  #join(sessionId: string): FeedChannel {
    const limit = this.#options.maxStreamsPerSession;
    let channel = this.#channels.get(sessionId);
    if (channel !== undefined && limit !== null && channel.streams >= limit) {
      const detail = `This session has ${limit} open event streams. Close one of them, or share one between readers.`;
      throw new ServiceError(429, "too_many_streams", detail, { headers: { "retry-after": "10" } });
    }
    if (channel === undefined) {
      channel = {
        sessionId,
        life: "",
        app: DEFAULT_APP,
        head: 0,
        readers: new Set(),
        streams: 0,
        ended: new Set(),
        streaming: () => this.#texts.get(sessionId),
      };
      this.#channels.set(sessionId, channel);
    }
    channel.streams += 1;
    return channel;
  }

  #leave(channel: FeedChannel, reader: Reader | null): void {
    if (reader !== null) channel.readers.delete(reader);
    channel.streams -= 1;
    if (channel.streams === 0) this.#channels.delete(channel.sessionId);
  }

  #take(sessionId: string, note: SessionNote): void {
    this.#texts.take(sessionId, note);
    const channel = this.#channels.get(sessionId);
    if (channel === undefined) return;
    if (note.kind === "events") this.#announce(channel, note.life, note.events);
    else if (note.kind === "delta") growReaders(channel, note);
    else if (note.kind === "deleted") {
      channel.ended.add(note.life);
      for (const reader of channel.readers) if (reader.source.life === note.life) reader.finishDeleted();
    }
  }

  #announce(channel: FeedChannel, life: string, events: readonly NumberedEvent[]): void {
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

  #beat(): void {
    const readers = [...this.#channels.values()].flatMap((channel) => [...channel.readers]);
    const next = (from: number): void => {
      for (const reader of readers.slice(from, from + HEARTBEAT_SLICE)) reader.beat();
      if (from + HEARTBEAT_SLICE < readers.length) setImmediate(next, from + HEARTBEAT_SLICE);
    };
    next(0);
  }
}
