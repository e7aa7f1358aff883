// Serves event streams from the notifications of the hub, and missed events from the store. A session in memory
// gives only the position at which a stream starts. Data flows from the feed to a channel (one per session), to
// its subscribers (one per stream), to their sinks.

import { tooManyStreams } from "../core/errors.ts";
import type { SessionNotification } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type {
  EventHub,
  LoadedSession,
  StreamingText,
  StreamPosition,
} from "../core/ports/driven/event-hub.ts";
import type { CommandStore, EventStore } from "../core/ports/driven/store.ts";
import type {
  NewSessionOptions,
  OpenStream,
  StreamRequest,
  StreamSink,
  UpdateService,
} from "../core/ports/driving/services.ts";
import type { SessionAccess } from "../core/session-access.ts";
import { parseEventId } from "../core/session-event.ts";
import { Channel } from "./channel.ts";
import { type StreamIdentity, pendingActionsFrame, resyncFrame, RETRY_FRAME } from "./event-frames.ts";
import { StreamMaintenance } from "./stream-maintenance.ts";
import { StreamingTexts, TextRepair } from "./streaming-texts.ts";
import { Subscriber } from "./subscriber.ts";

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

export class Feed implements UpdateService {
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
      onNotification: (sessionId, notification) => this.#onNotification(sessionId, notification),
      onEvicted: (sessionId) => this.#texts.release(sessionId),
      onAnswerLoaded: (...args) => this.#recover(...args),
      incarnationsOf: (sessionId) => this.#channels.get(sessionId)?.incarnations ?? [],
    });
    this.#maintenance = new StreamMaintenance({ channels: this.#channels, clock, store });
    const isBroken = (id: string): boolean => this.#channels.has(id) && this.#texts.hasGap(id);
    this.#repair = new TextRepair({ clock, read: (id) => this.#refresh(id), isBroken });
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
      if (channel.hasEnded(position.incarnation)) subscriber.finishDeleted();
      else if (this.#stopped) subscriber.finishWithRetry();
      else if (subscriber.verifyAccess(channel)) {
        // A replay includes the events that requested pending actions. Without a replay, announce the actions.
        if (request.lastEventId === null || after === null)
          sink.write(pendingActionsFrame(source, position.pendingActions));
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

  /** Ends every stream with a `retry` field. The streams that follow start from the store. */
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

  /** Updates the streaming text, then writes to the session's subscribers. Only notifications of other nodes have gaps. */
  #onNotification(sessionId: string, notification: SessionNotification): void {
    const channel = this.#channels.get(sessionId);
    // A node that was paused may announce events that this node has already read from the store.
    if (channel !== undefined && channel.isKnown(notification)) return;
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
      // Text of this process waits for a gap before it too: a stream that was replaying has ignored that text.
      if (outcome === "applied") channel.sendDelta(notification);
      if (outcome === "gap") this.#repair.begin(sessionId);
    } else if (notification.kind === "moved") {
      const isNew = notification.incarnation !== channel.incarnation || notification.head > channel.head;
      if (this.#texts.isQuietSinceLastCall(sessionId) || isNew) this.#repair.begin(sessionId);
    } else {
      channel.end(notification.incarnation);
    }
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
    // Update the text before `catchUp`, which ends with sending it.
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
