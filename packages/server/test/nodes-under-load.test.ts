// Three nodes as processes on one PostgreSQL, behind a balancer that sends each request to the next node in
// whatever state, while nodes or the database restart.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Snapshot } from "@colloquy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFreePort, ServerProcess } from "../torture/harness/server-process.ts";
import { newSession, send, type Answer } from "./black-box/client.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { useOwnPostgres } from "./use-postgres.ts";
import { RoundRobin } from "./round-robin.ts";
import { until } from "./service.ts";

const MAIN = join(import.meta.dirname, "../src/main.ts");
const NODES = 3;
const CLIENTS = 4;
/**
 * No answer: the connection was refused or broken. Balancers skip such nodes up to this many times in a row.
 */
const BROKEN = null;
const PASSED_OVER = 10;
const MOST_UNANSWERED = 5;

/** Sends messages and checks after each that it is stored. */
class Client {
  readonly session = newSession();
  readonly said: string[] = [];
  readonly faults: string[] = [];
  unavailable = 0;
  readonly #balancer: RoundRobin;
  readonly #maxTries: number;
  readonly #name: string;

  /** `maxTries` of each request, on whichever node. */
  constructor(name: string, balancer: RoundRobin, maxTries: number) {
    this.#name = name;
    this.#balancer = balancer;
    this.#maxTries = maxTries;
  }

  async talk(): Promise<void> {
    await this.#hear();
    const message = `${this.#name}-${this.said.length}`;
    const chat = await this.#ask("POST", "/api/chat", { message }, { "Idempotency-Key": message });
    if (chat === null) return;
    this.said.push(message);
    await this.look();
    const title = `title of ${message}`;
    const renamed = await this.#ask("PATCH", `/api/sessions/${this.session}`, { title });
    const state = renamed && (await this.look());
    if (state !== null && state.title !== title) this.faults.push(`${title} became ${state.title}`);
  }

  /** A session's queue is bounded: wait for answers if they are slower than the messages. */
  async #hear(): Promise<void> {
    await until(async () => {
      const state = await this.look();
      const answered = state?.messages.filter(
        ({ sender, status }) => sender === "agent" && status === "complete",
      );
      return answered === undefined || this.said.length - answered.length < MOST_UNANSWERED;
    });
  }

  /** Asserts that every acknowledged message is there, once and in order, on whichever node. */
  async look(): Promise<Snapshot | null> {
    const answer = await this.#ask("GET", "/api/state");
    if (answer === null) return null;
    const state = answer.json() as Snapshot;
    const kept = state.messages.filter(({ sender }) => sender === "user").map(({ content }) => content);
    if (kept.join() !== this.said.join()) this.faults.push(`${kept.join()} instead of ${this.said.join()}`);
    return state;
  }

  async #ask(method: string, path: string, json?: unknown, headers = {}): Promise<Answer | null> {
    const url = `http://127.0.0.1:${this.#balancer.port}`;
    const seen: string[] = [];
    for (let [tries, broken] = [0, 0]; tries < this.#maxTries && broken < PASSED_OVER; ) {
      const call = { session: this.session, headers, ...(json !== undefined && { json }) };
      const answer = await send(url, method, path, call).catch(() => BROKEN);
      if (answer?.status === 200) return answer;
      seen.push(answer === BROKEN ? "broken" : `${answer.status} ${answer.text}`);
      if (answer === BROKEN) {
        broken += 1;
        continue;
      }
      [tries, broken] = [tries + 1, 0];
      this.unavailable += 1;
      if (answer.status !== 503) this.faults.push(`${method} ${path}: ${answer.status} ${answer.text}`);
      if (answer.headers["retry-after"] === undefined) this.faults.push("a 503 without Retry-After");
    }
    this.faults.push(`${method} ${path} failed: ${seen.slice(-3).join("; ")}`);
    return null;
  }
}

describe.skipIf(await isWithoutPostgres())("three nodes under load", () => {
  const postgres = useOwnPostgres();
  const nodes: { readonly start: () => ServerProcess; process: ServerProcess }[] = [];
  const folders: string[] = [];
  let balancer: RoundRobin;

  beforeAll(async () => {
    const environment = { COLLOQUY_DATABASE_URL: postgres.url(await postgres.createDatabase()) };
    const ports: number[] = [];
    for (let n = 0; n < NODES; n += 1) {
      const directory = await mkdtemp(join(tmpdir(), "colloquy-load-"));
      folders.push(directory);
      const port = await findFreePort();
      ports.push(port);
      const start = () => new ServerProcess({ main: MAIN, directory, port, environment });
      nodes.push({ start, process: start() });
    }
    await Promise.all(nodes.map(({ process }) => process.ready()));
    balancer = await RoundRobin.start();
    balancer.targets = ports;
  });
  afterAll(async () => {
    await balancer.stop();
    for (const { process } of nodes) await process.end("SIGKILL");
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  /** All clients send until `meanwhile` is done; then each message must be there and answered once. */
  async function underLoad(maxTries: number, meanwhile: (clients: readonly Client[]) => Promise<void>) {
    const name = newSession().slice(0, 8);
    const clients = Array.from({ length: CLIENTS }, (_, n) => new Client(`${name}-${n}`, balancer, maxTries));
    let isOver = false;
    const talking = clients.map(async (client) => {
      while (!isOver) await client.talk();
    });
    await meanwhile(clients).finally(() => (isOver = true));
    await Promise.all(talking);
    for (const client of clients) {
      expect(client.faults).toEqual([]);
      let state: Snapshot | null = null;
      await until(async () => {
        state = await client.look();
        return state?.is_processing === false;
      });
      const answers = (state as Snapshot | null)?.messages.filter(({ sender }) => sender === "agent") ?? [];
      expect(answers.map(({ status }) => status)).toEqual(client.said.map(() => "complete"));
      expect(client.faults).toEqual([]);
    }
    return clients;
  }

  it("fail no request that is retried once, while they restart one after another", async () => {
    const clients = await underLoad(2, async (talking) => {
      for (const node of nodes) {
        const before = talking.map(({ said }) => said.length);
        await node.process.end("SIGTERM");
        node.process = node.start();
        await node.process.ready();
        await untilTrue(() => talking.every(({ said }, n) => said.length > before[n]!));
      }
    });
    expect(clients.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it("answer 503 while the database is down, recover with it, and keep every promise", async () => {
    const clients = await underLoad(100_000, async (talking) => {
      await untilTrue(() => talking.every(({ said }) => said.length > 1));
      await postgres.halt();
      await untilTrue(() => talking.every(({ unavailable }) => unavailable > 3));
      await postgres.resume();
      const before = talking.map(({ said }) => said.length);
      await untilTrue(() => talking.every(({ said }, n) => said.length > before[n]! + 1));
    });
    expect(clients.every(({ unavailable }) => unavailable > 3)).toBe(true);
    expect(nodes.map(({ process }) => process.crash)).toEqual([null, null, null]);
  });
});

async function untilTrue(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { timeout: 120_000 }).toBe(true);
}
