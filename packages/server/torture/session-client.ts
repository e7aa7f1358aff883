// The requests of one session, each repeated until it is answered, with everything that the answers promise written into the
// ledger and every snapshot put to the oracles.

import { setTimeout as sleep } from "node:timers/promises";
import type { Snapshot } from "@colloquy/protocol";
import type { Answer, RequestOptions } from "./harness/http-request.ts";
import type { Random } from "./harness/random.ts";
import { LifeLedger } from "./ledger.ts";
import { checkSnapshot } from "./oracles.ts";
import { StreamFollower, type FollowerContext } from "./stream-follower.ts";

export interface LoadContext extends FollowerContext {
  /** Counted over all sessions. */
  readonly messages: { sent: number; acknowledged: number; refused: number; interrupted: number };
  /** Aborted when nothing may be sent any more, answered or not. */
  readonly giveUp: AbortSignal;
  /** Whether a request without an answer may still be carried out when others have been sent and answered: its server may only be paused. */
  readonly isCarriedOutLate: boolean;
  /** When something was last done to the servers, on the monotonic clock in milliseconds: until then nothing need have moved. */
  readonly disturbedAt: () => number;
  /** A session that works without any change for so long is stuck; in milliseconds. */
  readonly stuckMs: number;
}

export class SessionClient {
  readonly id: string;
  readonly #context: LoadContext;
  readonly #random: Random;
  #ledger = new LifeLedger(new Set());
  readonly #follower: StreamFollower;
  /** What a late request may still change, whatever has been answered since. */
  readonly #unsettled = new Set<"messages" | "title" | "user_state" | "life">();

  constructor(context: LoadContext, random: Random) {
    this.id = random.uuid();
    this.#context = context;
    this.#random = random;
    this.#follower = new StreamFollower(context, this.id);
  }

  get ledger(): LifeLedger {
    return this.#ledger;
  }

  get follower(): StreamFollower {
    return this.#follower;
  }

  get context(): LoadContext {
    return this.#context;
  }

  /** Whether a delete may still come that nobody heard an answer to: then nothing is known of this session any more. */
  get isUncertain(): boolean {
    return this.#unsettled.has("life");
  }

  /** Sends a message until it is acknowledged or refused. Some senders wait for the answer of the assistant. */
  async chat(text: string): Promise<void> {
    const { messages } = this.#context;
    const ledger = this.#ledger;
    const message = ledger.send(text);
    messages.sent += 1;
    const headers = {
      "idempotency-key": this.#random.uuid(),
      ...(this.#random.chance(0.1) && { prefer: "wait=1" }),
    };
    const path = `/api/chat?message=${encodeURIComponent(text)}`;
    const { answer, asked, isLate } = await this.#persist(path, { method: "POST", headers });
    if (isLate) this.#unsettled.add("messages");
    if (answer.status === 200) {
      message.acknowledged = ledger.now();
      messages.acknowledged += 1;
      const snapshot = this.#readSnapshot(answer, asked);
      if (!snapshot.messages.some(({ content }) => content === text)) {
        this.#report("lost", text, "is not in the answer that acknowledged it");
      }
    } else if (answer.status === 429) {
      message.refused = !isLate;
      messages.refused += 1;
    } else {
      this.#unexpected("chat", answer);
    }
  }

  async state(): Promise<Snapshot> {
    const { answer, asked } = await this.#persist("/api/state", {});
    if (answer.status !== 200) this.#unexpected("state", answer);
    return this.#readSnapshot(answer, asked);
  }

  /** After the answer nothing of what it shows may change: all of it is sealed. */
  async interrupt(): Promise<void> {
    const { answer, asked } = await this.#persist("/api/interrupt", { method: "POST" });
    if (answer.status !== 200) return this.#unexpected("interrupt", answer);
    const snapshot = this.#readSnapshot(answer, asked);
    this.#context.messages.interrupted += 1;
    if (snapshot.is_processing) this.#report("wrong answer", "interrupt", "answered with is_processing true");
  }

  async rename(title: string): Promise<void> {
    // A title needs a session: after a delete there is none until somebody asks for it.
    if (this.#ledger.life === null) await this.state();
    this.#ledger.settings.set("title", { value: undefined, since: 0 });
    const { answer, isLate } = await this.#persist(`/api/sessions/${this.id}`, {
      method: "PATCH",
      body: JSON.stringify({ title }),
    });
    if (isLate) this.#unsettled.add("title");
    if (answer.status === 200) this.#settle("title", title);
    else this.#unexpected("rename", answer);
  }

  async setUserState(counter: number): Promise<void> {
    this.#ledger.settings.set("user_state", { value: undefined, since: 0 });
    const patch = encodeURIComponent(JSON.stringify({ counter }));
    const { answer, isLate } = await this.#persist(`/api/state?user_state=${patch}`, {});
    if (isLate) this.#unsettled.add("user_state");
    if (answer.status === 200) this.#settle("user_state", { counter });
    else this.#unexpected("state", answer);
  }

  /** Deletes the session; whatever follows under its id is a new life, unless an old message may still come. */
  async remove(): Promise<void> {
    if (this.#unsettled.has("messages")) return;
    if (this.#ledger.life === null) await this.state();
    const { answer, attempts, isLate } = await this.#persist(`/api/sessions/${this.id}`, {
      method: "DELETE",
    });
    if (isLate) this.#unsettled.add("life");
    if (answer.status === 200 || (answer.status === 404 && attempts > 1)) this.#ledger = this.#ledger.next();
    else this.#unexpected("delete", answer);
  }

  /** All stored records of the session, oldest first. */
  async records(): Promise<readonly { role: string; content: string; id: string }[]> {
    const all: { role: string; content: string; id: string }[] = [];
    for (;;) {
      const after = all.at(-1)?.id;
      const cursor = after === undefined ? "" : `&after=${after}`;
      const { answer } = await this.#persist(`/api/sessions/${this.id}/messages?limit=100${cursor}`, {});
      if (answer.status !== 200) this.#unexpected("messages", answer);
      const page = answer.status === 200 ? (JSON.parse(answer.body) as typeof all) : [];
      all.push(...page);
      if (page.length < 100) return all;
    }
  }

  /** Repeats a request until it is answered by something else than "not now". */
  async #persist(
    path: string,
    options: RequestOptions,
  ): Promise<{ answer: Answer; asked: number; attempts: number; isLate: boolean }> {
    const { client, giveUp, isCarriedOutLate } = this.#context;
    const headers = { "x-session-id": this.id, ...options.headers };
    let isLate = false;
    for (let attempts = 1; ; attempts += 1) {
      giveUp.throwIfAborted();
      const asked = this.#ledger.now();
      const answer = await client.request(path, { ...options, headers }).catch(() => null);
      if (answer !== null && answer.status >= 500 && answer.status !== 503) this.#unexpected(path, answer);
      if (answer !== null && answer.status < 500) return { answer, asked, attempts, isLate };
      if (answer === null) isLate = isCarriedOutLate;
      await sleep(20 + this.#random.next() * 60);
    }
  }

  #readSnapshot(answer: Answer, asked: number): Snapshot {
    const snapshot = JSON.parse(answer.body) as Snapshot;
    if (answer.status === 200) {
      checkSnapshot(this.#ledger, snapshot, asked, this.#context.violations);
      this.#follower.offer(snapshot);
    }
    return snapshot;
  }

  #settle(name: "title" | "user_state", value: unknown): void {
    if (this.#unsettled.has(name)) return;
    this.#ledger.settings.set(name, { value, since: this.#ledger.now() });
  }

  #unexpected(what: string, answer: Answer): void {
    this.#report("wrong answer", `${what} ${answer.status}`, answer.body.slice(0, 300));
  }

  #report(kind: "lost" | "wrong answer", about: string, detail: string): void {
    this.#context.violations.add(kind, this.id, about, detail);
  }
}
