// One open event stream. A subscriber replays the log page by page, waits until the client has drained each page, and
// goes live when it reaches the announced head. After a gap between announced events, it replays again. It queues
// nothing during a replay, so that slow clients need little memory.

import type { IncludeGroup } from "@colloquy/protocol";
import type { ReasoningPiece } from "../core/ports/driven/bus.ts";
import type { StreamingText } from "../core/ports/driven/event-hub.ts";
import type { EventStore } from "../core/ports/driven/store.ts";
import type {
  SessionOwnership,
  StreamAccess,
  StreamEnd,
  StreamFrame,
  StreamSink,
} from "../core/ports/driving/services.ts";
import { appAfter, type NumberedEvent, ownerAfter } from "../core/session-event.ts";
import {
  type StreamIdentity,
  eventFrame,
  HEARTBEAT_FRAME,
  positionFrame,
  reasoningFrame,
  resyncFrame,
  RETRY_FRAME,
  noticeFrame,
  wholeMessageFrame,
} from "./event-frames.ts";

/** Maximum bytes of live events that a client may leave undrained (contract section 5). */
export const MAX_UNDRAINED_BYTES = 256 * 1024;
const PAGE = 200;

const END_MESSAGES: Readonly<Record<StreamEnd, string>> = {
  app_key_invalid:
    "This stream has ended, because its key does not open the App of this conversation, or no longer does.",
  user_token_expired: "This stream has ended, because the sign-in has expired or was revoked. Sign in again.",
  session_not_found: "This stream has ended, because the conversation belongs to a signed-in user.",
};

/** The part of a channel that subscribers use. */
export interface SubscriberChannel extends SessionOwnership {
  /** Sequence number of the last announced event in the current incarnation, to which every open stream belongs. */
  head: number;
  /** Returns the whole text of the incarnation's streaming message. Called when a stream goes live. */
  streaming(incarnation: string): StreamingText | null;
  /** Returns the received reasoning of the running model call. Called when a stream goes live. */
  reasoning(incarnation: string): ReasoningPiece | null;
}

/** Groups whose streamed text has no event numbers. */
const TEXTS = ["messages", "reasoning"] as const;
type TextGroup = (typeof TEXTS)[number];

export class Subscriber {
  readonly source: StreamIdentity;
  readonly included: ReadonlySet<IncludeGroup>;
  readonly access: StreamAccess;
  readonly #channel: SubscriberChannel;
  readonly #sink: StreamSink;
  readonly #events: Pick<EventStore, "after">;
  readonly #onEnd: () => void;
  #mode: "replaying" | "live" | "ended" = "replaying";
  /** Sequence number of the last event that was written or filtered out. */
  #position: number;
  /** Sequence number of the last id that was written. */
  #written: number;
  /** Groups whose streamed text is withheld until `#isAhead` is false. */
  readonly #pending = new Set<TextGroup>();

  constructor(options: {
    readonly source: StreamIdentity;
    readonly included: ReadonlySet<IncludeGroup>;
    readonly access: StreamAccess;
    readonly channel: SubscriberChannel;
    readonly sink: StreamSink;
    readonly events: Pick<EventStore, "after">;
    /** Sequence number after which the stream starts. */
    readonly after: number;
    readonly onEnd: () => void;
  }) {
    this.source = options.source;
    this.included = options.included;
    this.access = options.access;
    this.#channel = options.channel;
    this.#sink = options.sink;
    this.#events = options.events;
    this.#onEnd = options.onEnd;
    this.#position = options.after;
    this.#written = options.after;
  }

  /** Writes the events after the last one seen, then goes live. A store failure ends the stream; the client resumes. */
  async replay(): Promise<void> {
    try {
      while (this.#mode === "replaying" && this.#position < this.#channel.head) {
        const page = await this.#events.after(this.source.sessionId, this.#position, PAGE);
        if (this.#mode !== "replaying") return;
        if (page === null || page.incarnation !== this.source.incarnation) return this.end("abort");
        const hasGap =
          page.floor > this.#position || (page.events[0]?.number ?? page.head + 1) > this.#position + 1;
        if (!hasGap && page.events.length === 0) return this.end("abort");
        // Events beyond the announced head may have set the session's App or owner.
        const app = appAfter(page.events) ?? this.#channel.app;
        const owner = ownerAfter(page.events);
        if (!this.verifyAccess({ app, owner: owner === undefined ? this.#channel.owner : owner })) return;
        if (hasGap) this.#resync(page.head);
        else
          for (const event of page.events)
            this.#write(event.number, eventFrame(this.source, event, this.included));
        await this.#sink.drained();
      }
    } catch {
      return this.end("abort");
    }
    if (this.#mode === "replaying") this.#goLive();
  }

  /** Writes announced events; `frameOf` returns an event's frame for the included groups. */
  announce(events: readonly NumberedEvent[], frameOf: (event: NumberedEvent) => StreamFrame | null): void {
    if (this.#mode !== "live") return;
    for (const event of events) {
      if (event.number <= this.#position) continue;
      if (event.number > this.#position + 1) return this.#replayGap();
      this.#write(event.number, frameOf(event));
      if (this.#mode !== "live") return;
    }
    this.#flushText();
  }

  /** Replays events that were committed but not announced. */
  catchUp(): void {
    if (this.#mode !== "live") return;
    if (this.#position < this.#channel.head) this.#replayGap();
    else this.#flushText();
  }

  /** Writes streamed text. A stream that replays ignores it: it receives the whole text when it goes live. */
  writeDelta(group: TextGroup, frame: StreamFrame): void {
    if (this.#mode !== "live" || !this.included.has(group)) return;
    if (this.#isAhead) this.#pending.add(group);
    else this.#writeLive(frame);
  }

  /** Writes a heartbeat, with the current event id if the stream filtered out events since the last id. */
  beat(): void {
    if (this.#mode !== "live") return;
    const moved = this.#position > this.#written;
    this.#writeLive(moved ? positionFrame(this.source, this.#position) : HEARTBEAT_FRAME);
    if (moved) this.#written = this.#position;
  }

  /** Ends the stream with a `session_deleted` notice. */
  finishDeleted(): void {
    const message = "This conversation was deleted.";
    const notice = { message, level: "warning", code: "session_deleted" } as const;
    this.#finish(noticeFrame(this.source, notice));
  }

  /** Returns true if the stream may use the session; otherwise ends the stream with a notice. */
  verifyAccess(session: SessionOwnership): boolean {
    const code = this.access.endFor(session);
    if (code === null) return true;
    this.#finish(noticeFrame(this.source, { message: END_MESSAGES[code], level: "error", code }));
    return false;
  }

  /** Ends the stream with `retry`, so that the client reconnects: the service stops, or cannot verify the key. */
  finishWithRetry(): void {
    this.#finish(RETRY_FRAME);
  }

  #finish(frame: StreamFrame): void {
    if (this.#mode === "ended") return;
    this.#sink.write(frame);
    this.end("finish");
  }

  end(how: "finish" | "abort"): void {
    if (this.#mode === "ended") return;
    this.#mode = "ended";
    this.#onEnd();
    this.#sink.end(how);
  }

  /** True if the stream is ahead of the announced head, so that announced text may belong to a finished answer. */
  get #isAhead(): boolean {
    return this.#position > this.#channel.head;
  }

  #goLive(): void {
    this.#mode = "live";
    for (const group of TEXTS) if (this.included.has(group)) this.#pending.add(group);
    this.#flushText();
  }

  /**
   * Sends the whole streaming message and reasoning if some text was withheld and the announced head has caught up.
   */
  #flushText(): void {
    if (this.#pending.size === 0 || this.#isAhead) return;
    const { incarnation } = this.source;
    const streaming = this.#pending.has("messages") ? this.#channel.streaming(incarnation) : null;
    const reasoning = this.#pending.has("reasoning") ? this.#channel.reasoning(incarnation) : null;
    this.#pending.clear();
    if (streaming !== null) this.#sink.write(wholeMessageFrame(this.source, streaming));
    if (reasoning !== null) this.#sink.write(reasoningFrame(this.source, reasoning));
  }

  /** Skips events that were trimmed from the log, and makes the client fetch the snapshot. */
  #resync(head: number): void {
    this.#sink.write(resyncFrame(this.source, head));
    this.#position = head;
    this.#written = head;
  }

  #replayGap(): void {
    this.#mode = "replaying";
    void this.replay();
  }

  /** Writes the event of this number, unless `frame` is `null`: then it is filtered out. */
  #write(number: number, frame: StreamFrame | null): void {
    this.#position = number;
    if (frame === null) return;
    if (this.#mode === "live") this.#writeLive(frame);
    else this.#sink.write(frame);
    this.#written = number;
  }

  /** Writes a live event. Disconnects a client with too many undrained bytes; it can resume later. */
  #writeLive(frame: StreamFrame): void {
    if (this.#sink.write(frame) > MAX_UNDRAINED_BYTES) this.end("abort");
  }
}
