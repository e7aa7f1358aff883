// One open event stream. It begins by replaying the log in pages that wait for the client, and is live from the moment it has caught
// up with what was announced; a gap in what is announced sends it back to the log. Nothing is queued here while it replays,
// so a stream costs little whatever the client does.

import type { IncludeGroup } from "@colloquy/protocol";
import type { EventStore } from "../core/ports/event-store.ts";
import type { StreamAccess, StreamSink } from "../core/ports/services.ts";
import { appAfter, type NumberedEvent } from "../core/session-event.ts";
import {
  deltaText,
  eventText,
  HEARTBEAT_TEXT,
  positionText,
  RETRY_TEXT,
  streamNoticeText,
  type EventSource,
} from "./event-text.ts";

/** Bytes of live events that a client may leave undrained (contract section 5). */
export const MAX_UNDRAINED_BYTES = 256 * 1024;
const PAGE = 200;

/** What the feed knows of a session while somebody reads it. */
export interface Channel {
  readonly sessionId: string;
  /** Number of the last event that was announced in the session's present life: the life of every reader that has not ended. */
  head: number;
  /** The agent message that streams now in this life of the session, with all its text; read when a reader goes live. */
  streaming(life: string): { readonly messageId: string; readonly text: string } | null;
}

export class Reader {
  readonly source: EventSource;
  readonly included: ReadonlySet<IncludeGroup>;
  readonly access: StreamAccess;
  readonly #channel: Channel;
  readonly #sink: StreamSink;
  readonly #events: EventStore;
  readonly #onEnd: () => void;
  #mode: "replaying" | "live" | "ended" = "replaying";
  /** Number of the last event that was written or passed over. */
  #seen: number;
  /** Number in the last id that was written. */
  #written: number;
  /** Whether text is held back. */
  #owesText = false;

  constructor(options: {
    readonly source: EventSource;
    readonly included: ReadonlySet<IncludeGroup>;
    readonly access: StreamAccess;
    readonly channel: Channel;
    readonly sink: StreamSink;
    readonly events: EventStore;
    /** Number after which the stream begins. */
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
    this.#seen = options.after;
    this.#written = options.after;
  }

  /** Writes what the log has after the reader's place, then goes live. Failures of the store end the stream: the client resumes. */
  async replay(): Promise<void> {
    try {
      while (this.#mode === "replaying" && this.#seen < this.#channel.head) {
        const page = await this.#events.after(this.source.sessionId, this.#seen, PAGE);
        if (this.#mode !== "replaying") return;
        const isMine = page !== null && page.life === this.source.life && page.floor <= this.#seen;
        if (!isMine || page.events.length === 0) return this.end("abort");
        // The log may be ahead of what was announced, and the session of an App by now.
        const app = appAfter(page.events);
        if (app !== null && !this.mayShow(app)) return;
        for (const event of page.events) this.#write(event);
        await this.#sink.drained();
      }
    } catch {
      return this.end("abort");
    }
    if (this.#mode === "replaying") this.#goLive();
  }

  /** Takes events that were announced; `text` answers their wire text for this reader's groups. */
  announce(events: readonly NumberedEvent[], text: (event: NumberedEvent) => Buffer | null): void {
    if (this.#mode !== "live") return;
    for (const event of events) {
      if (event.number <= this.#seen) continue;
      if (event.number > this.#seen + 1) return this.#mend();
      this.#pass(event.number, text(event));
      if (this.#mode !== "live") return;
    }
    this.#payText();
  }

  /** More was committed than was announced: it is in the log. */
  catchUp(): void {
    if (this.#mode !== "live") return;
    if (this.#seen < this.#channel.head) this.#mend();
    else this.#payText();
  }

  /** Takes text that streams; it has no number, and one that replays gets all of it when it goes live. */
  grow(text: Buffer): void {
    if (this.#mode !== "live" || !this.included.has("messages")) return;
    if (this.#isAhead) this.#owesText = true;
    else this.#writeLive(text);
  }

  /** Keeps the connection alive, and the client's place in the log when that moved on out of its sight. */
  beat(): void {
    if (this.#mode !== "live") return;
    const moved = this.#seen > this.#written;
    this.#writeLive(moved ? positionText(this.source, this.#seen) : HEARTBEAT_TEXT);
    if (moved) this.#written = this.#seen;
  }

  /** The session is gone: one last notice, then the end. */
  finishDeleted(): void {
    if (this.#mode === "ended") return;
    const notice = {
      code: "session_deleted",
      level: "warning",
      message: "This conversation was deleted.",
    } as const;
    this.#sink.write(streamNoticeText(this.source, notice, null));
    this.end("finish");
  }

  /** Whether the stream may show a session of this App; ends it, after one last notice, when it may not. */
  mayShow(app: string): boolean {
    if (this.access.opens(app)) return true;
    if (this.#mode === "ended") return false;
    const message =
      "This stream has ended, because its key does not open the App of this conversation, or does not any more.";
    this.#sink.write(
      streamNoticeText(this.source, { code: "app_key_invalid", level: "error", message }, null),
    );
    this.end("finish");
    return false;
  }

  /** The service stops, or cannot say whether the stream may go on: the client comes back after the `retry` time. */
  finishForNow(): void {
    if (this.#mode === "ended") return;
    this.#sink.write(RETRY_TEXT);
    this.end("finish");
  }

  end(how: "finish" | "abort"): void {
    if (this.#mode === "ended") return;
    this.#mode = "ended";
    this.#onEnd();
    this.#sink.end(how);
  }

  /** Whether the log has told more than was announced: text that was announced may be of an answer that is over. */
  get #isAhead(): boolean {
    return this.#seen > this.#channel.head;
  }

  #goLive(): void {
    this.#mode = "live";
    this.#owesText = this.included.has("messages");
    this.#payText();
  }

  /** Sends all the text that streams, when it was held back and belongs to what was written. */
  #payText(): void {
    if (!this.#owesText || this.#isAhead) return;
    this.#owesText = false;
    const streaming = this.#channel.streaming(this.source.life);
    if (streaming !== null) {
      this.#sink.write(
        deltaText(this.source, { message_id: streaming.messageId, offset: 0, text: streaming.text }),
      );
    }
  }

  #mend(): void {
    this.#mode = "replaying";
    void this.replay();
  }

  #write(event: NumberedEvent): void {
    const text = eventText(this.source, event, this.included);
    this.#seen = event.number;
    if (text === null) return;
    this.#sink.write(text);
    this.#written = event.number;
  }

  #pass(number: number, text: Buffer | null): void {
    this.#seen = number;
    if (text === null) return;
    this.#writeLive(text);
    this.#written = number;
  }

  /** A client that leaves too much undrained is cut off and resumes later; it never slows anyone. */
  #writeLive(text: Buffer): void {
    const undrained = this.#sink.write(text) - text.length;
    if (undrained > MAX_UNDRAINED_BYTES) this.end("abort");
  }
}
