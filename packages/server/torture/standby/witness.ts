// One session of the torture with a standby: sends chats and decisions, records what the service has
// acknowledged, and compares it with what is stored.

import type { Message, Snapshot } from "@colloquy/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer, HttpClient, RequestOptions } from "../harness/http-request.ts";
import type { Random } from "../harness/random.ts";
import type { MessageRecord } from "../session-client.ts";
import type { ViolationKind, Violations } from "../violations.ts";

/** Share of messages that are sent once, without a key. */
const SENT_ONCE = 0.3;
const PAUSE_MS = 50;
const REQUEST_MS = 20_000;

export interface WitnessContext {
  readonly client: HttpClient;
  readonly violations: Violations;
  readonly counts: StandbyCounts;
  /** Number of promotions so far. */
  readonly generation: () => number;
}

export interface StandbyCounts {
  messages: number;
  steps: number;
  decisions: number;
  inDoubt: number;
  unchanged: number;
  /** Requests answered 503 because the store did not accept or confirm a write. */
  refusals: number;
}

/** Finished answers by their id. */
type Steps = ReadonlyMap<string, string>;

export class Witness {
  readonly id: string;
  readonly #context: WitnessContext;
  readonly #random: Random;
  /** Expected fate of each sent text: stored, not stored, or unknown. */
  readonly #sent = new Map<string, "stored" | "not stored" | "unknown">();
  readonly #steps = new Map<string, string>();
  /** Calls that a person has approved. */
  readonly #approved = new Set<string>();
  /** Finished answers seen in a state that may exist on the primary alone. */
  #seen: { readonly steps: Steps; readonly generation: number } = { steps: new Map(), generation: 0 };

  constructor(context: WitnessContext, random: Random) {
    this.id = random.uuid();
    this.#context = context;
    this.#random = random;
  }

  /** Sends a message; with a key, until it is acknowledged or `stopping` is aborted. */
  async chat(text: string, stopping: AbortSignal): Promise<void> {
    const { counts } = this.#context;
    const path = `/api/chat?message=${encodeURIComponent(text)}`;
    this.#sent.set(text, "unknown");
    if (this.#random.chance(SENT_ONCE)) {
      const answer = await this.#ask(path, { method: "POST" });
      if (answer?.status === 200) return;
      const code = codeOf(answer);
      if (code === "store_unavailable") this.#sent.set(text, "not stored");
      counts[code === "store_unavailable" ? "unchanged" : "inDoubt"] += 1;
      return;
    }
    const headers = { "idempotency-key": this.#random.uuid() };
    while (!stopping.aborted) {
      const { generation, steps } = this.#seen;
      const answer = await this.#ask(path, { method: "POST", headers });
      if (answer?.status === 200) {
        this.#sent.set(text, "stored");
        counts.messages += 1;
        // Standbys receive the log in order, so they have what was seen before this commit on the same server.
        if (generation === this.#context.generation()) this.#acknowledge(steps);
        return;
      }
      await sleep(PAUSE_MS);
    }
  }

  /** Reads the session, and approves what waits for a person. */
  async look(stopping: AbortSignal): Promise<void> {
    const generation = this.#context.generation();
    const answer = await this.#ask("/api/state", {});
    if (answer?.status !== 200) return;
    const { messages, pending_actions: pending } = JSON.parse(answer.body) as Snapshot;
    if (generation !== this.#context.generation()) return;
    this.#seen = { steps: finished(messages), generation };
    for (const { id } of pending) await this.#approve(id, stopping);
  }

  /** Approves until a response is certain. */
  async #approve(action: string, stopping: AbortSignal): Promise<void> {
    const body = JSON.stringify({ decision: "approve" });
    while (!stopping.aborted) {
      const answer = await this.#ask(`/api/actions/${action}`, { method: "POST", body });
      if (answer?.status === 200) {
        this.#approved.add(action);
        this.#context.counts.decisions += 1;
        return;
      }
      // The turn was lost with the action, which no one had acknowledged, or has ended.
      if (answer !== null && answer.status !== 503) return;
      await sleep(PAUSE_MS);
    }
  }

  /** Compares what is stored with what was acknowledged. */
  async check(): Promise<void> {
    const records = await this.#records();
    if (records === null) return this.#report("stuck", "messages", "cannot be read");
    this.#compare(records);
  }

  /** Waits until the session is idle, and also compares what is shown. */
  async checkAtRest(deadline: number): Promise<void> {
    const shown = await this.#untilIdle(deadline);
    const records = await this.#records();
    if (shown === null) return;
    if (records === null) return this.#report("stuck", "messages", "cannot be read");
    this.#compare(records);
    for (const { id } of shown.pending_actions)
      if (this.#approved.has(id)) this.#report("lost", id, "was approved, and waits for a decision again");
    const [seen, kept] = [shown.messages, records].map((list) =>
      list.map(({ id, content }) => `${id} ${content}`),
    );
    if (String(seen) !== String(kept))
      this.#report("fold mismatch", "state", `shows ${String(seen)}, stored are ${String(kept)}`);
  }

  #compare(records: readonly MessageRecord[]): void {
    const texts = records.flatMap(({ role, content }) => (role === "user" ? [content] : []));
    for (const [text, fate] of this.#sent) {
      const times = texts.filter((one) => one === text).length;
      if (fate === "stored" && times === 0) this.#report("lost", text, "was acknowledged");
      if (fate === "not stored" && times > 0)
        this.#report("foreign message", text, "was reported as not stored");
      if (times > 1) this.#report("doubled", text, `is stored ${times} times`);
    }
    const stored = new Map(records.map(({ id, content }) => [id, content]));
    for (const [id, content] of this.#steps) {
      if (stored.get(id) !== content)
        this.#report("lost", id, `was answered with ${content}, now ${stored.get(id) ?? "missing"}`);
    }
  }

  async #untilIdle(deadline: number): Promise<Snapshot | null> {
    let last = "no answer";
    while (performance.now() < deadline) {
      const answer = await this.#ask("/api/state", {});
      if (answer?.status === 200) {
        const snapshot = JSON.parse(answer.body) as Snapshot;
        for (const { id } of snapshot.pending_actions) {
          if (this.#approved.has(id)) return snapshot;
          await this.#approve(id, AbortSignal.timeout(REQUEST_MS));
        }
        if (!snapshot.is_processing) return snapshot;
      }
      last = answer?.body.slice(0, 300) ?? last;
      await sleep(PAUSE_MS);
    }
    this.#report("stuck", "state", last);
    return null;
  }

  async #records(): Promise<readonly MessageRecord[] | null> {
    for (let tries = 0; tries < 20; tries += 1) {
      const answer = await this.#ask(`/api/sessions/${this.id}/messages?limit=100`, {});
      if (answer?.status === 200) return JSON.parse(answer.body) as readonly MessageRecord[];
      if (answer?.status === 404) return [];
      await sleep(PAUSE_MS);
    }
    return null;
  }

  #acknowledge(steps: Steps): void {
    for (const [id, content] of steps) {
      if (this.#steps.has(id)) continue;
      this.#steps.set(id, content);
      this.#context.counts.steps += 1;
    }
  }

  async #ask(path: string, options: RequestOptions): Promise<Answer | null> {
    const headers = { ...options.headers, "x-session-id": this.id };
    const answer = await this.#context.client
      .request(path, { timeoutMs: REQUEST_MS, ...options, headers })
      .catch(() => null);
    if (answer?.status === 503) this.#context.counts.refusals += 1;
    else if (answer !== null && answer.status >= 500)
      this.#report("wrong answer", path, `${answer.status} ${answer.body.slice(0, 300)}`);
    return answer;
  }

  #report(kind: ViolationKind, about: string, detail: string): void {
    this.#context.violations.add(kind, this.id, about, detail);
  }
}

function finished(messages: readonly Message[]): Steps {
  return new Map(
    messages.flatMap(({ id, sender, status, content }) =>
      sender === "agent" && status === "complete" ? [[id, content] as const] : [],
    ),
  );
}

function codeOf(answer: Answer | null): string | null {
  return answer === null ? null : ((JSON.parse(answer.body) as { readonly code?: string }).code ?? null);
}
