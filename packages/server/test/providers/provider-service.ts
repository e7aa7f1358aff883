// The whole service over HTTP, with a local server in place of each provider.

import { randomUUID } from "node:crypto";
import { openSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Snapshot } from "@colloquy/protocol";
import { loadConfig } from "../../src/config/load-config.ts";
import { createLog } from "../../src/wiring/logging.ts";
import { buildServer } from "../../src/wiring/server.ts";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { ManualClock } from "../manual-clock.ts";
import { ProviderServer } from "../provider-server.ts";

export const SECRET_KEY = "sk-very-secret-key-0123456789";
const MAX_ROUNDS = 20_000;

export interface ProviderService {
  readonly provider: ProviderServer;
  readonly clock: ManualClock;
  /** Sends a message. Returns the snapshot: at once, or with `wait` when the answer is complete. */
  chat(session: string, message: string, wait?: "wait", more?: object): Promise<Snapshot>;
  state(session: string): Promise<Snapshot>;
  interrupt(session: string): Promise<Snapshot>;
  /** Approves an action. */
  approve(session: string, action: string): Promise<void>;
  /** Resolves with the state once the condition holds. */
  stateWhen(session: string, holds: (snapshot: Snapshot) => boolean): Promise<Snapshot>;
  /** Advances the clock, second by second. */
  pass(ms: number): Promise<void>;
  /** Polls the service until the condition holds. */
  until(condition: () => boolean): Promise<void>;
  /** Returns state and token usage of the session's turns, from the database. */
  turns(session: string): { readonly state: string; readonly usage: unknown }[];
  /** Returns the log so far. */
  logged(): Promise<string>;
  /** Returns everything that the service wrote: the log, and the bytes of the data directory. */
  written(): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts the service with the model `rig`, and the demo model for titles. `app` overrides the App's settings, `local`
 * those of the provider `local`.
 */
export async function startProviderService(
  rig: string,
  app: object = {},
  local: object = {},
): Promise<ProviderService> {
  const provider = new ProviderServer();
  await provider.start();
  const directory = await mkdtemp(join(tmpdir(), "colloquy-provider-"));
  const data = join(directory, "data");
  const { config } = await configure(
    directory,
    provider.url,
    {
      models: [rig],
      utilityModel: "demo/assistant",
      ...app,
    },
    local,
  );
  const clock = new ManualClock();
  const onFatal = (error: Error): never => {
    throw error;
  };
  const logFile = join(directory, "log");
  const descriptor = openSync(logFile, "a");
  const log = createLog({ level: "trace", destination: descriptor, readable: false });
  const store = await openSqliteStore({ directory: data, clock, onFatal });
  const server = await buildServer(config, { logger: log.logger, onFatal, clock, store });
  const { url } = await server.listen();
  const ask = async (
    method: string,
    path: string,
    session: string,
    { headers = {}, ...sent }: { readonly headers?: Record<string, string>; readonly body?: string } = {},
  ) => {
    const all = { "X-Session-Id": session, "Content-Type": "application/json", ...headers };
    const answer = await fetch(`${url}${path}`, { method, headers: all, ...sent });
    if (!answer.ok) throw new Error(`${method} ${path} answers ${answer.status}: ${await answer.text()}`);
    return Snapshot.parse(await answer.json());
  };
  const state = (session: string) => ask("GET", "/api/state", session);
  return {
    provider,
    clock,
    chat: (session, message, wait, more = {}) => {
      const headers: Record<string, string> = wait === undefined ? {} : { Prefer: "wait=60" };
      return ask("POST", "/api/chat", session, { headers, body: JSON.stringify({ message, ...more }) });
    },
    state,
    approve: async (session, action) => {
      const headers = { "X-Session-Id": session, "Content-Type": "application/json" };
      const sent = { method: "POST", headers, body: JSON.stringify({ decision: "approve" }) };
      const answer = await fetch(`${url}/api/actions/${action}`, sent);
      if (!answer.ok) throw new Error(await answer.text());
    },
    interrupt: (session) => ask("POST", "/api/interrupt", session),
    stateWhen: async (session, holds) => {
      for (let tries = 0; tries < MAX_ROUNDS; tries += 1) {
        const snapshot = await state(session);
        if (holds(snapshot)) return snapshot;
      }
      throw new Error(`Condition never became true: ${holds.toString()}`);
    },
    pass: async (ms) => {
      for (let left = ms; left > 0; left -= 1_000) {
        await clock.advance(Math.min(left, 1_000));
        await store.probe();
      }
    },
    until: async (condition) => {
      for (let tries = 0; tries < MAX_ROUNDS; tries += 1) {
        if (condition()) return;
        await (await fetch(`${url}/healthz`)).text();
      }
      throw new Error(`Condition never became true: ${condition.toString()}`);
    },
    turns: (session) => {
      const database = new DatabaseSync(join(data, "colloquy.db"), { readOnly: true });
      try {
        const rows = database
          .prepare(
            "SELECT t.state, t.usage FROM turns t JOIN sessions s ON s.key = t.session_key WHERE s.id = ?",
          )
          .all(session);
        return rows.map(({ state, usage }) => ({
          state: String(state),
          usage: JSON.parse(String(usage)) as unknown,
        }));
      } finally {
        database.close();
      }
    },
    logged: () => {
      log.flush();
      return readFile(logFile, "utf8");
    },
    written: async () => {
      log.flush();
      const names = await readdir(data);
      const files = await Promise.all(
        [logFile, ...names.map((name) => join(data, name))].map((file) => readFile(file, "latin1")),
      );
      return files.join("\n");
    },
    stop: async () => {
      await server.stop({ graceMs: 0 });
      // Leave the log file open, because background work may write to it until the process ends.
      await provider.stop();
      await rm(directory, { recursive: true });
    },
  };
}

async function configure(directory: string, url: string, app: object, local: object) {
  const file = {
    apps: { default: { tools: ["calculator"], instructions: "Be brief.", ...app } },
    providers: {
      openai: { baseURL: url },
      anthropic: { baseURL: url },
      google: { baseURL: url },
      local: { kind: "openai-compatible", baseURL: url, apiKeyEnv: "LOCAL_KEY", ...local },
      mine: { kind: "demo" },
    },
  };
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(file));
  const loaded = await loadConfig({
    environment: {
      PORT: "0",
      OPENAI_API_KEY: SECRET_KEY,
      ANTHROPIC_API_KEY: SECRET_KEY,
      GEMINI_API_KEY: SECRET_KEY,
      LOCAL_KEY: SECRET_KEY,
    },
    workingDirectory: directory,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded;
}

export function newSession(): string {
  return randomUUID();
}
