// The event channel: readers of sessions, fed by what is announced on the bus and, for what lies behind, by the store. It never
// touches a live session.

import { ServiceError } from "../core/errors.ts";
import type { Bus, Origin, SessionNote } from "../core/ports/bus.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { EventStore } from "../core/ports/event-store.ts";
import type {
  AdmitNewSession,
  OpenStream,
  StreamRequest,
  StreamSink,
  UpdateService,
} from "../core/ports/services.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { RETRY_TEXT, resyncText, type EventSource } from "./event-text.ts";
import { announceTo, growReaders, isBehind, livesIn, moveHead, type FeedChannel } from "./feed-channel.ts";
import { Reader } from "./reader.ts";
import { placeAfter, type StreamPosition } from "./stream-place.ts";
import { StreamRounds } from "./stream-rounds.ts";
import { StreamingTexts, type StreamingText } from "./streaming-texts.ts";
import { TextMending } from "./text-mending.ts";

export interface FeedOptions {
  readonly bus: Bus;
  readonly events: EventStore;
  readonly clock: Clock;
  /** Makes the session exist and answers where its log stands. */
  readonly ensure: (sessionId: string, admit: AdmitNewSession) => Promise<StreamPosition>;
  /** As `ensure`, `null` when there is no such session. */
  readonly read: (sessionId: string) => Promise<StreamPosition | null>;
  /** Whether the session is in memory: then `release` is called when it leaves. */
  readonly isInMemory: (sessionId: string) => boolean;
  /** Notes that these sessions are in use. */
  readonly touch: (used: readonly { readonly id: string; readonly life: string }[]) => Promise<unknown>;
  /** Streams that one session may have open at once; `null` for any number. */
  readonly maxStreamsPerSession: number | null;
}

export class Feed implements UpdateService {
  readonly #options: FeedOptions;
  readonly #channels = new Map<string, FeedChannel>();
  readonly #texts = new StreamingTexts();
  readonly #rounds: StreamRounds;
  readonly #mending: TextMending;
  readonly #stopListening: () => void;
  #stopped = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#stopListening = options.bus.listen({ onNote: (...heard) => this.#take(...heard) });
    const { clock, touch } = options;
    this.#rounds = new StreamRounds({ channels: this.#channels, clock, touch });
    const isBroken = (id: string): boolean => this.#channels.has(id) && this.#texts.hasGap(id);
    this.#mending = new TextMending({ clock, read: (id) => this.#look(id), isBroken });
  }

  /** Streams that are open now. */
  get openStreams(): number {
    let count = 0;
    for (const channel of this.#channels.values()) count += channel.readers.size;
    return count;
  }

  /** Lives of a session that streams are open of: older ones too, where nobody has told their readers of the end. */
  livesOf(sessionId: string): readonly string[] {
    const channel = this.#channels.get(sessionId);
    return channel === undefined ? [] : livesIn(channel);
  }

  /** Sessions of which text is held. */
  get heldTexts(): number {
    return this.#texts.size;
  }

  async open(request: StreamRequest, sink: StreamSink, admit: AdmitNewSession): Promise<OpenStream> {
    if (this.#stopped) return endForNow(sink);
    const channel = this.#join(request.sessionId);
    try {
      await channel.following.ready;
      const position = await this.#options.ensure(request.sessionId, admit);
      this.#takePosition(channel, position);
      const source: EventSource = { sessionId: request.sessionId, life: position.life };
      const after = await placeAfter(this.#options.events, source, request.lastEventId, position.head);
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
      else if (this.#stopped) reader.finishForNow();
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
    this.#rounds.stop();
    this.#mending.stop();
    for (const channel of this.#channels.values())
      for (const reader of channel.readers) reader.finishForNow();
  }

  /**
   * A session was loaded in the middle of an answer that nobody here works on, after a crash for example: readers are sent what its
   * snapshot shows, in place of what they had of it.
   */
  recover(session: StreamPosition & { readonly id: string }, streaming: StreamingText): void {
    if (!this.#texts.recover(session.id, session.life, { ...streaming, epoch: session.epoch })) return;
    const channel = this.#channels.get(session.id);
    if (channel === undefined || (channel.life === session.life && session.head < channel.head)) return;
    // Of what was loaded, readers may not have been told everything yet: the text of a message comes behind its beginning.
    moveHead(channel, session);
    this.#catchUp(channel);
    this.#showText(channel);
  }

  /** A session has left memory, and nobody works on it: its text is held no longer. `recover` brings it back when it is loaded. */
  release(sessionId: string): void {
    this.#texts.release(sessionId);
  }

  /** As in `StreamRounds`. */
  async noteUse(): Promise<void> {
    await this.#rounds.noteUse();
  }

  /** As above. */
  async checkKeys(): Promise<void> {
    await this.#rounds.checkKeys();
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
        following: this.#options.bus.follow(sessionId),
        streaming: (life) => this.#texts.get(sessionId, life),
      };
      this.#channels.set(sessionId, channel);
    }
    channel.streams += 1;
    return channel;
  }

  #leave(channel: FeedChannel, reader: Reader | null): void {
    if (reader !== null) channel.readers.delete(reader);
    channel.streams -= 1;
    if (channel.streams > 0) return;
    channel.following.stop();
    this.#channels.delete(channel.sessionId);
    // What is said of it elsewhere is not heard any longer, nor that it ends.
    if (!this.#options.isInMemory(channel.sessionId)) this.#texts.release(channel.sessionId);
  }

  #take(sessionId: string, note: SessionNote, origin: Origin): void {
    const heard = this.#texts.take(sessionId, note);
    const channel = this.#channels.get(sessionId);
    if (channel === undefined) return;
    if (note.kind === "events") {
      const hasMissed = isBehind(channel, note);
      announceTo(channel, note.life, note.events);
      if (!hasMissed) return;
      this.#texts.doubt(sessionId);
      this.#mending.begin(sessionId);
    } else if (note.kind === "delta") {
      if (heard === "taken" || origin === "here") growReaders(channel, note);
      if (heard === "gap") this.#mending.begin(sessionId);
    } else if (note.kind === "moved") {
      const isNews = note.life !== channel.life || note.head > channel.head;
      if (this.#texts.isQuiet(sessionId) || isNews) this.#mending.begin(sessionId);
    } else {
      channel.ended.add(note.life);
      for (const reader of channel.readers) if (reader.source.life === note.life) reader.finishDeleted();
    }
  }

  /** More may have been committed and said elsewhere than was heard here: readers are sent it, as far as they may see it. */
  async #look(sessionId: string): Promise<boolean> {
    const position = await this.#options.read(sessionId);
    const channel = this.#channels.get(sessionId);
    return position === null || channel === undefined || this.#takePosition(channel, position);
  }

  /** Where the session stood when it was read; more may have been heard meanwhile, and then it says nothing. Answers whether it did. */
  #takePosition(channel: FeedChannel, position: StreamPosition): boolean {
    const { life, head, epoch, streaming } = position;
    if (channel.ended.has(life) || (channel.life === life && head < channel.head)) return false;
    moveHead(channel, position);
    // First the text: who catches up is sent it at the end of that.
    const isNews = streaming !== null && this.#texts.mend(channel.sessionId, life, { ...streaming, epoch });
    if (streaming === null) this.#texts.release(channel.sessionId);
    this.#catchUp(channel);
    if (isNews) this.#showText(channel);
    return true;
  }

  /** Who is catching up gets it at the end of that. */
  #showText(channel: FeedChannel): void {
    const streaming = this.#texts.get(channel.sessionId, channel.life);
    if (streaming !== null) growReaders(channel, { life: channel.life, offset: 0, ...streaming });
  }

  #catchUp(channel: FeedChannel): void {
    for (const reader of channel.readers) {
      if (reader.source.life === channel.life && reader.mayShow(channel.app)) reader.catchUp();
    }
  }
}

/** As an open stream ends: a browser's EventSource comes back after that, where it would give up for good behind a 503. */
function endForNow(sink: StreamSink): OpenStream {
  sink.write(RETRY_TEXT);
  sink.end("finish");
  return { close: () => undefined };
}
