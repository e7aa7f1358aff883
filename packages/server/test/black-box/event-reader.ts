// A reader of `GET /api/updates` that checks every frame against the contract (section 5) and records it.

import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { UpdateEvent } from "@colloquy/protocol";
import { expect } from "vitest";
import type { DocumentedApi } from "../documented-api.ts";
import { documentOf, expectDocumentedEvent } from "../documented-traffic.ts";
import { open } from "./client.ts";

export interface ReadEvent {
  readonly id: string | null;
  readonly event: UpdateEvent;
}

export interface ReaderOptions {
  readonly include?: string;
  readonly lastEventId?: string;
  readonly headers?: OutgoingHttpHeaders;
}

const PATIENCE_MS = 20_000;

export class EventReader {
  readonly events: ReadEvent[] = [];
  /** Frames without an event: the retry line, heartbeats, bare ids. */
  readonly other: string[] = [];
  /** Whether the service has ended the stream. */
  ended = false;
  lastEventId: string | null = null;
  readonly #session: string;
  readonly #message: IncomingMessage;
  readonly #api: DocumentedApi | null;
  #buffer = "";
  readonly #wake: (() => void)[] = [];

  private constructor(session: string, message: IncomingMessage, api: DocumentedApi | null) {
    this.#api = api;
    this.#session = session;
    this.#message = message;
    message.setEncoding("utf8");
    message.on("data", (text: string) => this.#take(text));
    message.on("error", () => {});
    message.on("end", () => {
      this.ended = true;
      this.#ring();
    });
  }

  static async connect(url: string, session: string, options: ReaderOptions = {}): Promise<EventReader> {
    const query = options.include === undefined ? "" : `?include=${options.include}`;
    const message = await open(url, "GET", `/api/updates${query}`, {
      session,
      headers: {
        Accept: "text/event-stream",
        ...options.headers,
        ...(options.lastEventId !== undefined && { "Last-Event-ID": options.lastEventId }),
      },
    });
    expect(message.statusCode).toBe(200);
    expect(message.headers["content-type"]).toMatch(/^text\/event-stream/);
    expect(message.headers["cache-control"]).toBe("no-store, no-transform");
    return new EventReader(session, message, await documentOf(url));
  }

  /** Resolves with the first matching event at or after index `from`. */
  async find(fits: (event: UpdateEvent) => boolean, from = 0): Promise<ReadEvent> {
    const found = () => this.events.slice(from).find(({ event }) => fits(event));
    await this.until(() => found() !== undefined);
    return found()!;
  }

  /** Resolves when the condition holds, checked after every frame. */
  async until(holds: () => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    while (!holds()) {
      await new Promise<void>((resolve, reject) => {
        this.#wake.push(resolve);
        deadline.addEventListener("abort", () =>
          reject(
            new Error(
              `Condition never became true: ${holds.toString()}; ${JSON.stringify(this.events).slice(-2000)}`,
            ),
          ),
        );
      });
    }
  }

  leave(): void {
    this.#message.destroy();
  }

  #take(text: string): void {
    this.#buffer += text;
    const blocks = this.#buffer.split("\n\n");
    this.#buffer = blocks.pop() ?? "";
    for (const block of blocks) this.#read(block);
    this.#ring();
  }

  #read(block: string): void {
    const match = /^(?:id: ([0-9a-z]+-\d+)\n)?data: (\{[^\n]*\})$/.exec(block);
    if (match?.[2] === undefined) {
      expect(block).toMatch(/^(?:retry: \d+|: [^\n]*(?:\nid: [0-9a-z]+-\d+)?)$/);
      this.other.push(block);
      this.lastEventId = /^id: (.*)$/m.exec(block)?.[1] ?? this.lastEventId;
      return;
    }
    const event = JSON.parse(match[2]) as UpdateEvent;
    expect(event.session_id).toBe(this.#session);
    expectDocumentedEvent(this.#api, event);
    const id = match[1] ?? null;
    if (id !== null) this.lastEventId = id;
    this.events.push({ id, event });
  }

  #ring(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
