// Follow a conversation: for a stream, and for a poll that waits.

import type { UpdateEvent } from "@colloquy/protocol";
import type { StreamFollower } from "@colloquy/server/protocol";
import { eventsAfter, liveMessage, liveText, pageAfter, pagesAfter } from "./events.ts";
import { mayAddEvents, type View } from "./view.ts";

/** Streams pages of events, and the text in progress. */
export class EventStream implements StreamFollower {
  readonly after: string;
  readonly #view: View;
  /** Number of the last sent event. */
  #sequence: number;
  /** The last text of which a frame was due. */
  #live = { key: "", length: 0 };
  #isOver = false;

  constructor(view: View, sequence: number) {
    this.#view = view;
    this.#sequence = sequence;
    this.after = view.snapshot.last_event_id;
  }

  /** Ends with the connection, or when the conversation must be read again. */
  get isOver(): boolean {
    return this.#isOver;
  }

  begin(): string {
    // Clients take the first page, even if it is empty, as the state of the conversation.
    const pages = this.#pages() || frame("page", pageAfter(this.#view, this.#sequence));
    return pages + this.#text();
  }

  encode(event: UpdateEvent): string {
    if (!this.#view.apply(event)) {
      this.#isOver = true;
      return frame("resync", {});
    }
    return mayAddEvents(event) ? this.#pages() + this.#text() : this.#text();
  }

  #pages(): string {
    let text = "";
    for (const page of pagesAfter(this.#view, this.#sequence)) {
      this.#sequence = page.events.at(-1)?.sequence ?? this.#sequence;
      text += frame("page", page);
    }
    return text;
  }

  /** Each frame has the whole text, so that frames become rarer as it grows. */
  #text(): string {
    const text = liveText(this.#view);
    if (text === null) return "";
    const sent = this.#live.key === text.key ? this.#live.length : 0;
    if (text.length < sent + Math.max(1, sent >> 2)) return "";
    this.#live = text;
    const live = liveMessage(this.#view);
    return live === null ? "" : frame("message", live);
  }
}

/** Waits for the next event. */
export class NextEvent implements StreamFollower {
  readonly after: string;
  readonly #view: View;
  readonly #sequence: number;
  /** False if the conversation must be read again. */
  isCurrent = true;
  #hasNew = false;

  constructor(view: View, sequence: number) {
    this.#view = view;
    this.#sequence = sequence;
    this.after = view.snapshot.last_event_id;
  }

  get isOver(): boolean {
    return this.#hasNew || !this.isCurrent;
  }

  encode(event: UpdateEvent): string {
    // This protocol sends only complete texts.
    if (event.type === "message_delta" || this.isOver) return "";
    this.isCurrent = this.#view.apply(event);
    if (this.isCurrent && mayAddEvents(event))
      this.#hasNew = eventsAfter(this.#view, this.#sequence).next().done !== true;
    return "";
  }
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
