// Serves event streams from the notifications of the hub, and missed events from the store. Sessions in memory
// determine only the position at which a stream starts. Data flows from the feed to a channel (one per session), to
// its subscribers (one per stream), to their sinks.

import type { IncludeGroup } from "@colloquy/protocol";
import { tooManyStreams } from "../core/errors.ts";
import type {
  Following,
  KnownReasoning,
  KnownText,
  ReasoningPiece,
  SessionNotification,
} from "../core/ports/driven/bus.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type {
  EventHub,
  LoadedSession,
  Place,
  StreamingText,
  StreamPosition,
} from "../core/ports/driven/event-hub.ts";
import type { CommandStore, EventStore } from "../core/ports/driven/store.ts";
import type {
  NewSessionOptions,
  OpenStream,
  StreamFrame,
  StreamRequest,
  StreamSink,
} from "../core/ports/driving/services.ts";
import type { SessionAccess } from "../core/session-access.ts";
import { appAfter, type NumberedEvent, ownerAfter, parseEventId } from "../core/session-event.ts";
import { DEFAULT_APP } from "../core/session.ts";
import {
  deltaFrame,
  eventFrame,
  pendingActionFrames,
  reasoningFrame,
  resyncFrame,
  RETRY_FRAME,
  type StreamIdentity,
  wholeMessageFrame,
} from "./event-frames.ts";
import { StreamingTexts, TextRepair } from "./streaming-texts.ts";
import { Subscriber, type SubscriberChannel } from "./subscriber.ts";

const HEARTBEAT_MS = 15_000;
/** Heartbeats are sent in slices: ten thousand at once would block the event loop for 0.1 s. */
const HEARTBEAT_SLICE = 200;
/**
 * An open stream counts as use of its session (contract section 1). Recording it every four minutes stays
 * within the five minutes that cleanup allows for unrecorded use, so a session with an open stream never expires.
 */
const NOTE_USE_MS = 4 * 60_000;
/** Interval of key checks. Key data may be 2 s old, so a revoked key ends its streams within 5 s. */
const KEY_CHECK_MS = 2_000;
/** Maximum age of key data: if the store is down, a stream ends this long after the last check of its key. */
const MAX_KEY_AGE_MS = 5_000;
/** Maximum sessions per transaction, so that recording the use of ten thousand does not block other writes. */
const NOTE_USE_BATCH = 500;

/** Finds the position of a session's event log. Implemented by `Conversations` (sessions/conversations.ts). */
interface Positions {
  /** Creates the session if it does not exist. */
  ensurePosition(
    sessionId: string,
    access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<StreamPosition>;
  /** Returns `null` if the session does not exist. */
  position(sessionId: string): Promise<StreamPosition | null>;
}

export interface FeedOptions {
  readonly hub: EventHub;
  readonly events: Pick<EventStore, "after">;
  readonly store: Pick<CommandStore, "execute">;
  readonly clock: Clock;
  readonly positions: Positions;
  readonly cache: { has(sessionId: string): boolean };
  /** Maximum number of open streams of one session; `null` for no limit. */
  readonly maxStreamsPerSession: number | null;
}

/** The event channel (contract section 5). */
export class Feed {
  readonly #options: FeedOptions;
  readonly #channels = new Map<string, Channel>();
  /** Separate from the text of sessions in memory, which do not receive the deltas of answers on other nodes. */
  readonly #texts = new StreamingTexts();
  readonly #maintenance: StreamMaintenance;
  readonly #repair: TextRepair;
  readonly #stopListening: () => void;
  #stopped = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    const { clock, hub, store } = options;
    this.#stopListening = hub.listen({
      onNotification: (...args) => this.#onNotification(...args),
      onEvicted: (sessionId) => this.#texts.release(sessionId),
      onAnswerLoaded: (...args) => this.#recover(...args),
      incarnationsOf: (sessionId) => this.#channels.get(sessionId)?.incarnations ?? [],
    });
    this.#maintenance = new StreamMaintenance({ channels: this.#channels, clock, store });
    const isBroken = (id: string): boolean => this.#channels.has(id) && this.#texts.hasGap(id);
    this.#repair = new TextRepair({ clock, read: (id) => this.#refresh(id), isBroken });
  }

  /** True after `stop`. New streams then end immediately. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  get openStreams(): number {
    let count = 0;
    for (const channel of this.#channels.values()) count += channel.subscribers.size;
    return count;
  }

  /** Number of sessions whose streaming text is in memory. */
  get heldTexts(): number {
    return this.#texts.size;
  }

  /**
   * Opens a stream, and creates the session if it does not exist. Throws a `ServiceError` 429 if the session
   * has too many streams.
   */
  async open(request: StreamRequest, sink: StreamSink, creation: NewSessionOptions): Promise<OpenStream> {
    if (this.#stopped) return endWithRetry(sink);
    const { positions } = this.#options;
    const channel = this.#join(request.sessionId);
    try {
      await channel.following.ready;
      const position = await positions.ensurePosition(request.sessionId, request.access.session, creation);
      this.#applyPosition(channel, position);
      const { spelling, incarnation } = position;
      const source: StreamIdentity = { sessionId: request.sessionId, spelling, incarnation };
      const after = await resolveStart(this.#options.events, source, request.lastEventId, position.head);
      sink.write(RETRY_FRAME);
      if (after === null) sink.write(resyncFrame(source, channel.head));
      const subscriber = new Subscriber({
        source,
        included: request.include,
        access: request.access,
        channel,
        sink,
        events: this.#options.events,
        after: after ?? channel.head,
        onEnd: () => this.#leave(channel, subscriber),
      });
      channel.subscribers.add(subscriber);
      if (position.isProcessing) {
        if (request.include.has("messages")) this.#requestText(channel);
        if (request.include.has("reasoning")) this.#requestReasoning(channel);
      }
      if (channel.hasEnded(position.incarnation)) subscriber.finishDeleted();
      else if (this.#stopped) subscriber.finishWithRetry();
      else if (subscriber.verifyAccess(channel)) {
        // A replay includes the events that requested pending actions. Without a replay, announce the actions.
        if (request.lastEventId === null || after === null)
          for (const frame of pendingActionFrames(source, position.pendingActions)) sink.write(frame);
        void subscriber.replay();
      }
      return { close: () => subscriber.end("abort") };
    } catch (error) {
      this.#leave(channel, null);
      throw error;
    }
  }

  /** Ends every stream with a `retry` field, after which its client reconnects. */
  stop(): void {
    this.#stopped = true;
    this.#stopListening();
    this.#maintenance.stop();
    this.#repair.stop();
    this.restartStreams();
  }

  /** Ends every stream with a `retry` field. Reconnecting clients replay from the store. */
  restartStreams(): void {
    for (const channel of this.#channels.values())
      for (const subscriber of channel.subscribers) subscriber.finishWithRetry();
  }

  /**
   * Replaces the streaming text of a session that was loaded in the middle of an answer of another process,
   * for example one that crashed. Subscribers then have the same text as the snapshot.
   */
  #recover(session: LoadedSession, streaming: StreamingText): void {
    const channel = this.#channels.get(session.id);
    // Notifications that arrived after the load are newer.
    if (channel?.isPast(session) === true) return this.#repair.begin(session.id);
    const isNew = this.#texts.recover(session.id, session.incarnation, {
      ...streaming,
      epoch: session.epoch,
    });
    if (!isNew || channel === undefined) return;
    // Subscribers may lack some of the loaded events. Send those first, because text follows its message's first event.
    channel.advance(session);
    channel.catchUp();
    channel.sendText();
  }

  /**
   * Joins the session's channel. Must precede the read of the session, so that the stream misses no
   * notification in between.
   */
  #join(sessionId: string): Channel {
    const limit = this.#options.maxStreamsPerSession;
    let channel = this.#channels.get(sessionId);
    if (channel !== undefined && limit !== null && channel.streams >= limit) throw tooManyStreams(limit);
    if (channel === undefined) {
      channel = new Channel(sessionId, this.#options.hub.follow(sessionId), this.#texts);
      this.#channels.set(sessionId, channel);
    }
    channel.streams += 1;
    return channel;
  }

  #leave(channel: Channel, subscriber: Subscriber | null): void {
    if (subscriber !== null) channel.subscribers.delete(subscriber);
    channel.streams -= 1;
    if (channel.streams > 0) return;
    channel.following.stop();
    this.#channels.delete(channel.sessionId);
    // This node no longer receives notifications of the session, not even its deletion.
    if (!this.#options.cache.has(channel.sessionId)) this.#texts.release(channel.sessionId);
  }

  /**
   * Updates the streaming text, then writes to the session's subscribers. Only notifications of other nodes
   * have gaps.
   */
  #onNotification(sessionId: string, notification: SessionNotification, origin: Place): void {
    const channel = this.#channels.get(sessionId);
    // A node that was paused may announce events that this node has already read from the store.
    if (channel !== undefined && channel.isKnown(notification)) return;
    const before = notification.kind === "delta" ? this.#texts.known(sessionId) : null;
    const outcome = this.#texts.apply(sessionId, notification);
    if (channel === undefined) return;
    if (notification.kind === "events") {
      const { incarnation, events } = notification;
      const hasGap = channel.hasGapBefore(incarnation, events);
      // The missed events may have changed the text, so send it only after the repair.
      if (hasGap) this.#texts.doubt(sessionId);
      channel.sendEvents(incarnation, events);
      if (hasGap) this.#repair.begin(sessionId);
    } else if (notification.kind === "delta") {
      // Gaps also occur in the text of this process: streams ignore text while they replay.
      if (outcome === "applied") channel.sendDelta(notification, before);
      if (outcome === "filled") channel.sendText();
      if (outcome === "gap") this.#repair.begin(sessionId);
      const isAnnounced = origin === "elsewhere" && notification.announces === true && outcome !== "old";
      if (isAnnounced && channel.includes("messages")) this.#requestText(channel);
    } else if (notification.kind === "reasoning") {
      if (!channel.includes("reasoning")) return;
      const isWhole = channel.sendReasoning(notification);
      // The turn's process publishes the first piece of a step without a request, and later pieces only on request.
      if (!isWhole || notification.offset === 0) this.#requestReasoning(channel);
    } else if (notification.kind === "text_requested" || notification.kind === "reasoning_requested") {
      return;
    } else if (notification.kind === "moved") {
      const isNew = notification.incarnation !== channel.incarnation || notification.head > channel.head;
      const isQuiet = this.#texts.isQuietSinceLastCall(sessionId);
      if (isQuiet || isNew) this.#repair.begin(sessionId);
      if (channel.streaming(channel.incarnation) === null) return;
      // The first piece, or the request for more, may have been lost.
      if (isQuiet && channel.includes("messages")) this.#requestText(channel);
      if (channel.includes("reasoning")) this.#requestReasoning(channel);
    } else {
      channel.end(notification.incarnation);
    }
  }

  /** Requests the missing text, and all later text of the turn, from the process that runs it. */
  #requestText({ sessionId, incarnation }: Channel): void {
    const known = this.#texts.known(sessionId);
    this.#options.hub.publish(sessionId, { kind: "text_requested", incarnation, known }, "elsewhere");
  }

  /** Requests the missing reasoning from the process that runs the session's turn, which may be this one. */
  #requestReasoning({ sessionId, incarnation, knownReasoning: known }: Channel): void {
    this.#options.hub.publish(sessionId, { kind: "reasoning_requested", incarnation, known });
  }

  /**
   * Reads the session from the store, and sends missed events and text to the subscribers that still have access.
   */
  async #refresh(sessionId: string): Promise<boolean> {
    const position = await this.#options.positions.position(sessionId);
    const channel = this.#channels.get(sessionId);
    return position === null || channel === undefined || this.#applyPosition(channel, position);
  }

  /** Applies a position read from the store. Returns false if it is older than the announced head. */
  #applyPosition(channel: Channel, position: StreamPosition): boolean {
    const { incarnation, epoch, streaming } = position;
    if (channel.hasEnded(incarnation) || channel.isPast(position)) return false;
    channel.advance(position);
    // Update the text first: `catchUp` sends it after the events.
    const isNew =
      streaming !== null && this.#texts.merge(channel.sessionId, incarnation, { ...streaming, epoch });
    if (streaming === null) this.#texts.release(channel.sessionId);
    channel.catchUp();
    if (isNew) channel.sendText();
    return true;
  }
}

/** Ends the stream with 200 and a `retry` field: an EventSource reconnects after that, but not after a 503. */
function endWithRetry(sink: StreamSink): OpenStream {
  sink.write(RETRY_FRAME);
  sink.end("finish");
  return { close: () => undefined };
}

/**
 * Returns the sequence number after which a stream starts; `null` if the client must fetch the snapshot
 * (contract section 5).
 */
async function resolveStart(
  events: Pick<EventStore, "after">,
  source: StreamIdentity,
  lastEventId: string | null,
  head: number,
): Promise<number | null> {
  if (lastEventId === null) return head;
  const id = lastEventId === "0" ? { incarnation: source.incarnation, n: 0 } : parseEventId(lastEventId);
  if (id === null || id.incarnation !== source.incarnation || id.n > head) return null;
  if (id.n === head) return head;
  const page = await events.after(source.sessionId, id.n, 0);
  // If this incarnation ended in the meantime, no resync is needed: the stream is about to report
  // `session_deleted`.
  const isOver = page === null || page.incarnation !== source.incarnation;
  return isOver || page.floor <= id.n ? id.n : null;
}

interface Advance {
  readonly incarnation: string;
  readonly head: number;
  /** The session's new App; `null` if unchanged. */
  readonly app: string | null;
  /** The session's new owner; `undefined` if unchanged. */
  readonly owner: string | null | undefined;
}

/**
 * The subscribers of a session, and the known head of its event log. All streams of a session share one channel,
 * because a session may have thousands.
 */
export class Channel implements SubscriberChannel {
  readonly sessionId: string;
  /** Subscription to the notifications of other nodes, held while a stream is open. */
  readonly following: Following;
  readonly subscribers = new Set<Subscriber>();
  /** Number of streams that are open or being opened. */
  streams = 0;
  /** The newest known incarnation, to which `head`, `app` and `owner` refer; empty if none is known. */
  incarnation = "";
  head = 0;
  app = DEFAULT_APP;
  owner: string | null = null;
  readonly #texts: StreamingTexts;
  /** Received reasoning of the running model call. */
  #reasoning: (ReasoningPiece & { readonly incarnation: string }) | null = null;
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

  /**
   * Returns true if this node missed the start of a new incarnation, or events between the head and the
   * announced ones.
   */
  hasGapBefore(incarnation: string, events: readonly NumberedEvent[]): boolean {
    if (this.incarnation === "") return false;
    return this.incarnation !== incarnation || (events[0]?.number ?? 0) > this.head + 1;
  }

  /** Advances to a position that was read from the store. Its head must not be lower than the known head. */
  advance(position: Advance): void {
    if (position.incarnation !== this.incarnation || position.head > this.head) this.#reasoning = null;
    this.#advance(position);
  }

  /** A new incarnation restarts the numbering; events of an ended incarnation are ignored. */
  #advance({ incarnation, head, app, owner }: Advance): void {
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
    if (this.#endsReasoning(incarnation, events)) this.#reasoning = null;
    this.#advance({ incarnation, head, app: appAfter(events), owner: ownerAfter(events) });
    const frames = new Map<string, StreamFrame | null>();
    for (const subscriber of this.subscribers) {
      if (subscriber.source.incarnation !== incarnation || !subscriber.verifyAccess(this)) continue;
      const groups = [...subscriber.included].join();
      subscriber.announce(events, (event) => {
        const key = `${event.number} ${groups}`;
        let frame = frames.get(key);
        if (frame === undefined) {
          frame = eventFrame(subscriber.source, event, subscriber.included);
          frames.set(key, frame);
        }
        return frame;
      });
    }
  }

  /** Returns true if the events, or missed ones before them, may have stored the known reasoning with its step. */
  #endsReasoning(incarnation: string, events: readonly NumberedEvent[]): boolean {
    if (this.#reasoning === null) return false;
    const { messageId } = this.#reasoning;
    return (
      this.hasGapBefore(incarnation, events) ||
      events.some(
        ({ event }) => "message" in event && event.type !== "system_notice" && event.message.id === messageId,
      )
    );
  }

  /** Sends streaming text beyond `before`, the text so far, to the subscribers of its incarnation. */
  sendDelta(delta: Extract<SessionNotification, { kind: "delta" }>, before: KnownText | null): void {
    const { incarnation, messageId } = delta;
    // Another process may have requested text that this one has.
    const isSame = before?.messageId === messageId && before.epoch === delta.epoch;
    const offset = isSame ? Math.max(delta.offset, before.length) : delta.offset;
    const text = delta.text.slice(offset - delta.offset);
    if (text === "") return;
    let frame: StreamFrame | null = null;
    for (const subscriber of this.subscribers) {
      if (subscriber.source.incarnation !== incarnation) continue;
      frame ??= deltaFrame(subscriber.source, { message_id: messageId, offset, text });
      subscriber.writeDelta("messages", frame);
    }
  }

  reasoning(incarnation: string): ReasoningPiece | null {
    return this.#reasoning?.incarnation === incarnation ? this.#reasoning : null;
  }

  /** Length of the received reasoning of the running call; `null` if there is none. */
  get knownReasoning(): KnownReasoning | null {
    if (this.#reasoning === null) return null;
    const { epoch, step, text } = this.#reasoning;
    return { epoch, step, length: text.length };
  }

  /** Returns true if a subscriber wants events of this group. */
  includes(group: IncludeGroup): boolean {
    return this.subscribers.values().some(({ included }) => included.has(group));
  }

  /**
   * Sends reasoning to the subscribers of its incarnation. Sends nothing and returns false if earlier reasoning of
   * the step is missing.
   */
  sendReasoning(piece: Extract<SessionNotification, { kind: "reasoning" }>): boolean {
    const last = this.#reasoning;
    if (last?.incarnation === piece.incarnation && piece.epoch < last.epoch) return true;
    const isSame =
      last?.incarnation === piece.incarnation && last.epoch === piece.epoch && last.step === piece.step;
    const before = isSame ? last.text : "";
    if (piece.offset > before.length) return false;
    // Another process may have requested reasoning that this one has. A call that is repeated starts at 0.
    const known = before.slice(piece.offset);
    if (piece.offset > 0 && known.startsWith(piece.text)) return true;
    const beyond = piece.text.startsWith(known) ? known.length : 0;
    const news = { ...piece, offset: piece.offset + beyond, text: piece.text.slice(beyond) };
    if (news.text === "") return true;
    this.#reasoning = { ...piece, offset: 0, text: before.slice(0, news.offset) + news.text };
    let frame: StreamFrame | null = null;
    for (const subscriber of this.subscribers) {
      if (subscriber.source.incarnation !== piece.incarnation) continue;
      frame ??= reasoningFrame(subscriber.source, news);
      subscriber.writeDelta("reasoning", frame);
    }
    return true;
  }

  /** Sends the whole streaming text to subscribers that have caught up. The others receive it when they catch up. */
  sendText(): void {
    const streaming = this.streaming(this.incarnation);
    if (streaming === null) return;
    for (const subscriber of this.subscribers)
      if (subscriber.source.incarnation === this.incarnation)
        subscriber.writeDelta("messages", wholeMessageFrame(subscriber.source, streaming));
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

interface StreamMaintenanceOptions {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly clock: Clock;
  readonly store: Pick<CommandStore, "execute">;
}

/** Periodic work on open streams: heartbeats, recording their use, and checking their keys. */
class StreamMaintenance {
  readonly #options: StreamMaintenanceOptions;
  readonly #timers: readonly Timer[];
  /** Fires when the oldest key data expires. */
  #expiryTimer: Timer | null = null;
  #stopped = false;

  constructor(options: StreamMaintenanceOptions) {
    this.#options = options;
    const { clock } = options;
    this.#timers = [
      clock.every(HEARTBEAT_MS, () => this.#sendHeartbeats()),
      clock.every(NOTE_USE_MS, () => void this.#noteUse()),
      clock.every(KEY_CHECK_MS, () => void this.#checkKeys()),
    ];
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.stop();
    this.#expiryTimer?.stop();
  }

  /** Records the use of every session with an open stream. Never rejects; the next call retries after a failure. */
  async #noteUse(): Promise<void> {
    const used = [...this.#options.channels.values()].filter(({ subscribers }) => subscribers.size > 0);
    for (let from = 0; from < used.length && !this.#stopped; from += NOTE_USE_BATCH) {
      const batch = used.slice(from, from + NOTE_USE_BATCH);
      await Promise.allSettled(
        batch.map(({ sessionId: session, incarnation }) => {
          const target = { session, incarnation };
          return this.#options.store.execute({ kind: "noteUse", target, input: null });
        }),
      );
    }
  }

  /**
   * Ends the streams whose keys are no longer valid. A key that cannot be read is checked again until its
   * data expires.
   */
  async #checkKeys(): Promise<void> {
    this.#endExpired();
    const keyed: Promise<void>[] = [];
    for (const channel of this.#options.channels.values()) {
      for (const subscriber of channel.subscribers) {
        const { refresh } = subscriber.access;
        const check = (): void => {
          if (!this.#stopped) subscriber.verifyAccess(channel);
        };
        if (refresh === null) check();
        else keyed.push(refresh().then(check, check));
      }
    }
    await Promise.all(keyed);
  }

  /** Ends the streams whose key data has expired, and schedules the next check. */
  #endExpired(): void {
    this.#expiryTimer?.stop();
    if (this.#stopped) return;
    const { channels, clock } = this.#options;
    const now = clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const channel of channels.values()) {
      for (const subscriber of channel.subscribers) {
        const checkedAt = subscriber.access.checkedAt(channel);
        if (checkedAt === null) continue;
        if (now - checkedAt >= MAX_KEY_AGE_MS) subscriber.finishWithRetry();
        else next = Math.min(next, checkedAt + MAX_KEY_AGE_MS);
      }
    }
    this.#expiryTimer =
      next === Number.POSITIVE_INFINITY ? null : clock.after(next - now, () => this.#endExpired());
  }

  #sendHeartbeats(): void {
    const subscribers = [...this.#options.channels.values()].flatMap((channel) => [...channel.subscribers]);
    const next = (from: number): void => {
      for (const subscriber of subscribers.slice(from, from + HEARTBEAT_SLICE)) subscriber.beat();
      if (from + HEARTBEAT_SLICE < subscribers.length) setImmediate(next, from + HEARTBEAT_SLICE);
    };
    next(0);
  }
}
