import { last } from "./conversation-operations.ts";
import type { Transport } from "./transport.ts";
import type { Snapshot } from "./wire.ts";

/** Reads the snapshot of a session, conditionally where possible. Never retries. */
export class StateReader {
  readonly #transport: Transport;
  readonly #sessionId: string;
  readonly #messages: () => number | undefined;
  #etag: string | null = null;

  /** `messages` returns the number of latest messages to read; `undefined` for all. */
  constructor(transport: Transport, sessionId: string, messages: () => number | undefined) {
    this.#transport = transport;
    this.#sessionId = sessionId;
    this.#messages = messages;
  }

  /** Makes the next read unconditional: the last snapshot read is no longer the current one. */
  forget(): void {
    this.#etag = null;
  }

  async read(signal: AbortSignal): Promise<Snapshot> {
    const answer = await this.#transport.required<Snapshot>({
      ...this.#request(),
      headers: { "X-Session-Id": this.#sessionId },
      field: "messages",
      signal,
    });
    this.#etag = answer.headers.get("etag");
    return answer.body;
  }

  /** Returns `null` if the snapshot has not changed since the last read. */
  async readChanged(signal: AbortSignal): Promise<Snapshot | null> {
    const etag = this.#etag;
    if (etag === null) return this.read(signal);
    const headers = { "X-Session-Id": this.#sessionId, "If-None-Match": etag };
    const request = { ...this.#request(), headers, field: "messages", signal };
    const answer = await this.#transport.request<Snapshot>(request);
    this.#etag = answer === null ? etag : answer.headers.get("etag");
    return answer?.body ?? null;
  }

  #request() {
    return { path: "/api/state", query: { messages: last(this.#messages()) } };
  }
}
