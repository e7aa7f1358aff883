// Runs conversations with a provider that sends hostile responses. Every turn must end, and every conversation must
// accept a further message.

import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../src/config/load-config.ts";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { createLog } from "../src/wiring/logging.ts";
import { buildServer } from "../src/wiring/server.ts";
import { ManualClock } from "../test/manual-clock.ts";
import { ProviderServer, writeEvents } from "../test/provider-server.ts";
import { PROTOCOLS } from "../test/providers/protocols.ts";
import { writeQuirk } from "../test/quirks/quirk-provider.ts";
import {
  ANTHROPIC_QUIRKS,
  CHAT_QUIRKS,
  GOOGLE_QUIRKS,
  type Quirk,
  RESPONSES_QUIRKS,
} from "../test/quirks/quirks.ts";
import { createRandom } from "../torture/harness/random.ts";
import { hostileAnswer } from "./hostile-answers.ts";

export interface AnswersOptions {
  readonly seed: string;
  readonly answers: number;
  /** Index of a single conversation to run; `null` runs all. */
  readonly only: number | null;
}

export interface AnswersResult {
  /** Number of conversations by final status of the first answer. */
  readonly counts: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
}

const CONCURRENCY = 48;
const MAX_FAILURES = 10;
/** Milliseconds by which the service's clock advances per real millisecond, to shorten its timeouts. */
const TICK_MS = 20;
/** Maximum real milliseconds for a turn on a busy machine; the service's own limits are far shorter. */
const END_MS = 600_000;
const POLL_MS = 50;
const NOBODY = randomUUID();
const LIMITS = { idleMs: 20_000, turnMs: 100_000, maxSteps: 3, maxModelRetries: 1 };
const QUIRKS: Readonly<Record<string, readonly Quirk[]>> = {
  "openai/gpt-5": RESPONSES_QUIRKS,
  "anthropic/claude-sonnet-4-5": ANTHROPIC_QUIRKS,
  "google/gemini-2.5-flash": GOOGLE_QUIRKS,
  // Chat Completions, which most servers with quirks implement.
  "local/llama3.2": CHAT_QUIRKS,
};

export async function runAnswers({ seed, answers, only }: AnswersOptions): Promise<AnswersResult> {
  const counts = new Map<string, number>();
  const failures: string[] = [];
  const service = await startService((error) => failures.push(`the service failed: ${String(error)}`));
  const rigs = PROTOCOLS.map(({ rig }) => rig);
  const caseOf = (index: number) => {
    const random = createRandom(`${seed}/answers/${index}`);
    const rig = random.chance(0.6) ? "local/llama3.2" : random.pick(rigs);
    return { rig, quirk: hostileAnswer(QUIRKS[rig] ?? [], random) };
  };
  service.provider.answer = (response, { body }) => {
    const [, kind = "", index = ""] =
      /(good|odd) answer (\d+)(?!.*(?:good|odd) answer)/s.exec(JSON.stringify(body)) ?? [];
    const { rig, quirk } = caseOf(Number(index));
    if (kind === "odd") return void writeQuirk(response, quirk);
    const protocol = PROTOCOLS.find((one) => one.rig === rig);
    writeEvents(response, protocol?.answer([{ deltas: ["Fine."] }]) ?? []);
    response.end();
  };
  const ask = async (session: string, path: string, init: RequestInit = {}): Promise<State> => {
    const headers = { "x-session-id": session, "content-type": "application/json", prefer: "wait=60" };
    const signal = AbortSignal.timeout(END_MS);
    const response = await fetch(`${service.url}${path}`, { ...init, headers, signal });
    if (!response.ok) throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
    return (await response.json()) as State;
  };
  /** Sends a message and waits for the end of the turn. */
  const say = async (session: string, message: string, rig: string): Promise<State> => {
    const start = performance.now();
    let state = await ask(session, "/api/chat", { method: "POST", body: JSON.stringify({ message, rig }) });
    while (state.is_processing && performance.now() - start < END_MS) {
      await sleep(POLL_MS);
      state = await ask(session, "/api/state");
    }
    return state;
  };
  const converse = async (index: number): Promise<void> => {
    const { rig, quirk } = caseOf(index);
    const session = randomUUID();
    try {
      const first = await say(session, `Give an odd answer ${index}`, rig);
      if (first.is_processing) throw new Error("the turn does not end");
      const end = first.messages.findLast(({ sender }) => sender === "agent")?.status ?? "none";
      counts.set(end, (counts.get(end) ?? 0) + 1);
      const next = await say(session, `Give a good answer ${index}`, rig);
      const last = next.messages.findLast(({ sender }) => sender === "agent");
      if (next.is_processing || last?.content !== "Fine.")
        throw new Error(`the conversation cannot continue: ${JSON.stringify([last, next.system_events])}`);
    } catch (error) {
      failures.push(`${index} ${rig} ${quirk.name}: ${String(error)} ${quirkText(quirk)}`);
    }
  };
  let next = only ?? 0;
  const end = only === null ? answers : only + 1;
  const worker = async (): Promise<void> => {
    while (next < end && failures.length < MAX_FAILURES) {
      next += 1;
      await converse(next - 1);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  await service.stop();
  return { counts, failures };
}

interface State {
  readonly is_processing: boolean;
  readonly system_events: unknown;
  readonly messages: readonly {
    readonly sender: string;
    readonly status: string;
    readonly content: string;
  }[];
}

function quirkText({ pieces, after, status, headers }: Quirk): string {
  const bytes = pieces.map((piece) => Buffer.from(piece).toString("latin1"));
  return JSON.stringify({ status, headers, after, bytes }).slice(0, 1_500);
}

async function startService(onFatal: (error: unknown) => void) {
  const provider = new ProviderServer();
  await provider.start();
  const directory = await mkdtemp(join(tmpdir(), "colloquy-answers-"));
  const common = { baseURL: provider.url };
  const file = {
    limits: LIMITS,
    apps: { default: { models: Object.keys(QUIRKS), utilityModel: "demo/assistant" } },
    providers: {
      openai: common,
      anthropic: common,
      google: common,
      local: { kind: "openai-compatible", ...common },
    },
  };
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(file));
  const key = "not-a-real-key";
  const environment = { PORT: "0", OPENAI_API_KEY: key, ANTHROPIC_API_KEY: key, GEMINI_API_KEY: key };
  const loaded = await loadConfig({ environment, workingDirectory: directory });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const clock = new ManualClock();
  const fail = (error: unknown): never => {
    onFatal(error);
    throw error;
  };
  const { logger } = createLog({ level: "silent", destination: 2, readable: false });
  const data = join(directory, "data");
  const store = await openSqliteStore({ directory: data, isAlone: true, clock, onFatal: fail });
  const stopClock = run(clock, store);
  const server = await buildServer(loaded.config, { logger, onFatal: fail, clock, store });
  const { url } = await server.listen();
  process.on("unhandledRejection", onFatal);
  return {
    provider,
    url,
    stop: async () => {
      process.off("unhandledRejection", onFatal);
      await server.stop({ graceMs: 0 });
      stopClock();
      await provider.stop();
      await rm(directory, { recursive: true });
    },
  };
}

/** Advances the clock continuously. Returns a function that stops it. */
function run(clock: ManualClock, store: Store): () => void {
  let isRunning = true;
  void (async () => {
    while (isRunning) {
      await clock.advance(TICK_MS);
      // The clock advances only after a call of the store has returned, so that a slow disk causes no timeouts.
      await store.sessions.find(NOBODY).catch(() => null);
      await sleep(1);
    }
  })();
  return () => (isRunning = false);
}
