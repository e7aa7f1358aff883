// Sends the requests of `@aomi-labs/client` (packages/client/src/agent/transport.ts of github.com/aomi-labs/aomi at
// 1e830d9, as its unit tests record them), and rejects what its `Session` rejects: another session id, and an unknown
// event that does not follow the last one.

import { randomUUID } from "node:crypto";

export interface AgentEvent {
  readonly type: string;
  readonly event_id: string;
  readonly sequence: number;
  readonly turn_id: string;
  readonly [field: string]: unknown;
}

export interface EventPage {
  readonly session_id: string;
  readonly cursor: string;
  readonly events: readonly AgentEvent[];
  readonly has_more: boolean;
}

export interface LiveMessage {
  readonly turn_id: string;
  readonly revision: number;
  readonly message: { readonly message_key: string; readonly content: string };
}

export class AgentApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly body: unknown;

  constructor(status: number, body: { readonly error?: { readonly code?: string } }) {
    super(JSON.stringify(body));
    this.status = status;
    this.code = body.error?.code ?? "agent_request_failed";
    this.body = body;
  }
}

const TERMINAL = ["complete", "interrupted", "failed"];

export class AgentSession {
  readonly sessionId: string;
  readonly #headers: Readonly<Record<string, string>>;
  url: string;
  cursor: string | undefined;
  readonly events: AgentEvent[] = [];
  /** Text in progress by message key, as the client shows it. */
  readonly live = new Map<string, LiveMessage>();
  /** Numbers of received `message` and `resync` frames. */
  readonly frames = { message: 0, resync: 0 };

  constructor(
    url: string,
    {
      sessionId = randomUUID(),
      headers = {},
    }: { readonly sessionId?: string; readonly headers?: Record<string, string> } = {},
  ) {
    this.url = url;
    this.sessionId = sessionId;
    this.#headers = headers;
  }

  get turnId(): string | undefined {
    return this.events.at(-1)?.turn_id;
  }

  get state(): string | undefined {
    return this.events.findLast(({ type }) => type === "turn_state_changed")?.["state"] as string | undefined;
  }

  get isTerminal(): boolean {
    return TERMINAL.includes(this.state ?? "");
  }

  /** Returns the shown messages: one for each key, the newest. */
  get messages(): readonly (readonly [sender: unknown, content: unknown])[] {
    const byKey = new Map<unknown, AgentEvent>();
    for (const event of this.events) if (event.type === "message") byKey.set(event["message_key"], event);
    return [...byKey.values()].map(({ sender, content }) => [sender, content]);
  }

  /** Returns types of events, states in place of their changes. */
  get types(): readonly unknown[] {
    return this.events.map(({ type, state, sender }) =>
      type === "turn_state_changed" ? state : type === "message" ? sender : type,
    );
  }

  async start(message: string, more: object = {}, key: string = randomUUID()): Promise<EventPage> {
    const body = {
      sessionId: this.sessionId,
      clientId: "web-7",
      message,
      mode: "auto",
      ...(this.cursor !== undefined && { cursor: this.cursor }),
      ...more,
    };
    return this.apply(
      await this.#json("POST", "/v1/agent/chat", body, { "idempotency-key": key, ...this.#thread() }),
    );
  }

  async poll(wait = 0, cursor = this.cursor): Promise<EventPage> {
    const query = new URLSearchParams({ ...(cursor !== undefined && { cursor }), wait: String(wait) });
    return this.apply(
      await this.#json(
        "GET",
        `/v1/agent/chat/${this.sessionId}?${query.toString()}`,
        undefined,
        this.#thread(),
      ),
    );
  }

  async interrupt(turnId = this.turnId): Promise<EventPage> {
    const path = `/v1/agent/chat/${this.sessionId}/interrupt`;
    const headers = { "idempotency-key": randomUUID(), ...this.#thread() };
    return this.apply(await this.#json("POST", path, { turnId }, headers));
  }

  async respond(actionId: string, revision: number, result: object): Promise<AgentEvent> {
    const path = `/v1/agent/chat/${this.sessionId}/actions/${actionId}/result`;
    const headers = { "idempotency-key": randomUUID(), ...this.#thread() };
    const answer = await this.#json<{ readonly action: AgentEvent }>(
      "POST",
      path,
      { revision, result },
      headers,
    );
    return answer.action;
  }

  sessions(method: string, path: string, body?: object): Promise<unknown> {
    const headers = method === "GET" ? {} : { "idempotency-key": randomUUID() };
    return this.#json<unknown>(method, `/v1/agent/sessions${path}`, body, headers);
  }

  /** Reads the stream until `isDone`, reconnecting with the cursor after a `resync`. */
  async follow(isDone = (): boolean => this.isTerminal): Promise<void> {
    const abort = new AbortController();
    const query = this.cursor === undefined ? "" : `?cursor=${encodeURIComponent(this.cursor)}`;
    const response = await fetch(`${this.url}/v1/agent/chat/${this.sessionId}/stream${query}`, {
      headers: { ...this.#headers, ...this.#thread(), accept: "text/event-stream" },
      signal: abort.signal,
    });
    if (!response.ok) throw new AgentApiError(response.status, (await response.json()) as object);
    if (response.headers.get("content-type")?.includes("text/event-stream") !== true)
      throw new TypeError("Expected an Agent event stream");
    let buffer = "";
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        const frames = (buffer + chunk).split("\n\n");
        buffer = frames.pop() ?? "";
        for (const frame of frames) {
          const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
          if (data !== undefined) this.#frame(event, JSON.parse(data) as object);
          if (isDone()) return;
        }
      }
    } finally {
      abort.abort();
    }
  }

  #frame(event: string | undefined, data: object): void {
    if (event === "page") this.apply(data as EventPage);
    else if (event === "message") {
      this.frames.message += 1;
      const live = data as LiveMessage;
      const known = this.live.get(live.message.message_key)?.revision ?? -1;
      if (live.turn_id === this.turnId && live.revision > known)
        this.live.set(live.message.message_key, live);
    } else if (event === "resync") this.frames.resync += 1;
    else throw new TypeError(`unknown frame ${event}`);
  }

  apply(page: EventPage): EventPage {
    if (page.session_id !== this.sessionId)
      throw new TypeError("Agent response session does not match the request");
    for (const event of page.events) {
      if (this.events.some(({ event_id: id }) => id === event.event_id)) continue;
      const previous = this.events.at(-1);
      if (previous !== undefined && event.sequence <= previous.sequence)
        throw new TypeError("Agent events are not monotonically ordered");
      this.events.push(event);
      if (event.type === "message") this.live.delete(String(event["message_key"]));
    }
    this.cursor = page.cursor;
    return page;
  }

  #thread() {
    return { "x-session-id": this.sessionId, "x-thread-id": this.sessionId };
  }

  async #json<Answer = EventPage>(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...this.#headers, ...headers, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.status === 204) return undefined as Answer;
    const answer = (await response.json()) as object;
    if (!response.ok) throw new AgentApiError(response.status, answer);
    return answer as Answer;
  }
}
