import type { Transport } from "./transport.ts";
import type { Snapshot } from "./wire.ts";

/** Reads the snapshot of a session, conditionally where possible. Never retries. */
export class StateReader {
  readonly #transport: Transport;
  readonly #sessionId: string;
  #etag: string | null = null;

  constructor(transport: Transport, sessionId: string) {
    this.#transport = transport;
    this.#sessionId = sessionId;
  }

  /** Makes the next read unconditional: the last snapshot read is no longer the current one. */
  forget(): void {
    this.#etag = null;
  }

  async read(signal: AbortSignal): Promise<Snapshot> {
    const path = "/api/state";
    const answer = await this.#transport.required<Snapshot>({
      path,
      headers: { "X-Session-Id": this.#sessionId },
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
    const answer = await this.#transport.request<Snapshot>({ path: "/api/state", headers, signal });
    this.#etag = answer === null ? etag : answer.headers.get("etag");
    return answer?.body ?? null;
  }
}
