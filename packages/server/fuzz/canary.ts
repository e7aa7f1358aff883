// A session that no request of the run targets: it must stay byte for byte the same.

import { setTimeout as sleep } from "node:timers/promises";
import type { Snapshot } from "@colloquy/protocol";
import type { HttpClient } from "../torture/harness/http-request.ts";

export class Canary {
  readonly #client: HttpClient;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #bytes: string;

  private constructor(client: HttpClient, headers: Readonly<Record<string, string>>, bytes: string) {
    this.#client = client;
    this.#headers = headers;
    this.#bytes = bytes;
  }

  /** Creates the session with an answered message and a final title. */
  static async create(client: HttpClient, sessionId: string): Promise<Canary> {
    const headers = { "x-session-id": sessionId };
    await client.request("/api/chat?message=Are+you+still+there", { method: "POST", headers });
    await client.request(`/api/sessions/${sessionId}`, { method: "PATCH", body: '{"title":"Canary"}' });
    for (;;) {
      const { body } = await client.request("/api/state", { headers });
      const snapshot = JSON.parse(body) as Snapshot;
      if (!snapshot.is_processing && snapshot.title === "Canary") return new Canary(client, headers, body);
      await sleep(50);
    }
  }

  /** Returns what has changed; `null` if nothing. */
  async check(): Promise<string | null> {
    const answer = await this.#client
      .request("/api/state", { headers: this.#headers, timeoutMs: 60_000 })
      .catch((error) => String(error));
    if (typeof answer === "string") return `the canary cannot be read: ${answer}`;
    return answer.body === this.#bytes
      ? null
      : `the canary has changed: ${answer.status} ${answer.body.slice(0, 500)}`;
  }
}
