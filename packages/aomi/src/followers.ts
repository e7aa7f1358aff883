// Follow a conversation: for a stream, and for a poll that waits.

import type { UpdateEvent } from "@colloquy/protocol";
import type { StreamFollower } from "@colloquy/server/protocol";
import { eventsAfter, liveMessage, liveText, pageAfter } from "./events.ts";
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
    // The first page may be empty: clients take it as the state of the conversation.
    return this.#page() + this.#pages() + this.#text();
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
    while (hasNew(this.#view, this.#sequence)) text += this.#page();
    return text;
  }

  #page(): string {
    const page = pageAfter(this.#view, this.#sequence);
    this.#sequence = page.events.at(-1)?.sequence ?? this.#sequence;
    return frame("page", page);
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
  #isOver = false;

  constructor(view: View, sequence: number) {
    this.#view = view;
    this.#sequence = sequence;
    this.after = view.snapshot.last_event_id;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  encode(event: UpdateEvent): string {
    if (event.type === "message_delta") return "";
    this.#isOver ||= !this.#view.apply(event) || (mayAddEvents(event) && hasNew(this.#view, this.#sequence));
    return "";
  }
}

function hasNew(view: View, after: number): boolean {
  return eventsAfter(view, after).next().done !== true;
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
