// Sends requests to an example as a browser does: with a cookie and an `Origin`, and over an event stream.

import { createHmac, randomUUID } from "node:crypto";
import type { Snapshot, UpdateEvent } from "@colloquy/protocol";
import { expect } from "vitest";
import { SESSION_SECRET } from "./examples.ts";

export interface Call {
  readonly session?: string;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Returns a login cookie as the examples sign it. */
export function signedLogin(user: string, expires = Date.now() + 3_600_000, secret = SESSION_SECRET): string {
  const claim = `${Buffer.from(user).toString("base64url")}.${expires}`;
  return `login=${claim}.${createHmac("sha256", secret).update(claim).digest("base64url")}`;
}

export class Browser {
  readonly #url: string;
  readonly #cookie: string | null;

  /** `cookie` is `null` for a user who is not logged in. */
  constructor(url: string, cookie: string | null) {
    this.#url = url;
    this.#cookie = cookie;
  }

  async ask(method: string, path: string, { session, json, headers, signal }: Call = {}): Promise<Response> {
    return await fetch(`${this.#url}${path}`, {
      method,
      headers: {
        ...(method !== "GET" && { Origin: this.#url }),
        ...(this.#cookie !== null && { Cookie: this.#cookie }),
        ...(session !== undefined && { "X-Session-Id": session }),
        ...(json !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(signal !== undefined && { signal }),
    });
  }

  /** Starts a conversation with a new id, and returns the id. */
  async create(): Promise<string> {
    const session = randomUUID();
    expect((await this.ask("GET", "/api/state", { session })).status).toBe(200);
    return session;
  }

  async chat(session: string, message: string, headers: Call["headers"] = {}): Promise<Response> {
    return await this.ask("POST", "/api/chat", { session, json: { message }, headers });
  }

  /** Returns the snapshot once the condition holds. */
  async stateWhen(session: string, isIt: (snapshot: Snapshot) => boolean): Promise<Snapshot> {
    for (;;) {
      const answer = await this.ask("GET", "/api/state", { session });
      expect(answer.status).toBe(200);
      const snapshot = (await answer.json()) as Snapshot;
      if (isIt(snapshot)) return snapshot;
    }
  }

  async follow(session: string, headers: Call["headers"] = {}): Promise<Stream> {
    const gone = new AbortController();
    const path = `/api/updates?include=messages,state&session=${session}`;
    const answer = await this.ask("GET", path, {
      headers: { Accept: "text/event-stream", ...headers },
      signal: gone.signal,
    });
    return new Stream(answer, gone);
  }
}

export interface Received {
  readonly id: string | null;
  readonly event: UpdateEvent;
}

/** An event stream as `EventSource` reads it. */
export class Stream {
  readonly answer: Response;
  readonly received: Received[] = [];
  readonly #gone: AbortController;
  readonly #chunks: AsyncIterator<string>;
  #rest = "";

  constructor(answer: Response, gone: AbortController) {
    this.answer = answer;
    this.#gone = gone;
    this.#chunks = answer.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  }

  /** Reads until an event matches, and returns the event. */
  async until(isIt: (event: UpdateEvent) => boolean): Promise<Received> {
    for (let next = 0; ; next += 1) {
      while (next >= this.received.length) await this.#read();
      const found = this.received[next]!;
      if (isIt(found.event)) return found;
    }
  }

  /** Reads to the end. */
  async end(): Promise<void> {
    for (;;) if ((await this.#chunks.next()).done === true) return;
  }

  leave(): void {
    this.#gone.abort();
  }

  async #read(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done === true) throw new Error("The stream ended");
    const frames = (this.#rest + value).split("\n\n");
    this.#rest = frames.pop() ?? "";
    for (const frame of frames) {
      const data = /^data: ?(.*)$/m.exec(frame)?.[1];
      const id = /^id: ?(.*)$/m.exec(frame)?.[1] ?? null;
      if (data !== undefined) this.received.push({ id, event: JSON.parse(data) as UpdateEvent });
    }
  }
}
