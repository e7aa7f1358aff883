// The real service in this process with a scripted model, a faulty proxy in front, and clients whose clock
// the test advances.

import { loadConfig } from "../../server/src/config/load-config.ts";
import type { ToolSettings } from "../../engine/src/core/app-settings.ts";
import { buildServer } from "../../server/src/wiring/server.ts";
import { openSqliteStore } from "../../engine/src/store/sqlite/open.ts";
import { createSystemClock } from "../../engine/src/wiring/clock.ts";
import { ManualClock } from "../../server/test/manual-clock.ts";
import { ScriptedModel } from "../../testing/src/models/scripted-model.ts";
import { createClient, type Client, type ClientOptions } from "../src/index.ts";
import { FaultProxy } from "./fault-proxy.ts";

const RIG = "test/scripted";
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

export interface Served {
  /** URL of the proxy. */
  readonly url: string;
  readonly model: ScriptedModel;
  readonly proxy: FaultProxy;
  /** Clock of the clients. */
  readonly clock: ManualClock;
  /** Advances the service's wall clock. */
  pass(ms: number): void;
  /** Wakes clients, like a network that is back. */
  wake(): void;
  client(options?: ClientOptions): Client;
  /** A client that bypasses the proxy. */
  readonly direct: Client;
  /** Polls until the condition holds, advancing the clients' clock by `ms` each round if given. */
  until(condition: () => boolean, ms?: number): Promise<void>;
  stop(): Promise<void>;
}

/** `tools` are additional to the calculator, which always asks for approval. */
export async function serve(tools: Partial<ToolSettings> = {}): Promise<Served> {
  const loaded = await loadConfig({
    environment: { HOST: "127.0.0.1", PORT: "0" },
    workingDirectory: import.meta.dirname,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const model = new ScriptedModel();
  const base = config.apps["default"]!;
  const app = {
    ...base,
    models: [RIG, "demo/assistant"],
    utilityModel: "demo/assistant",
    tools: { ...base.tools, ...tools, approvals: { calculator: "always" as const } },
  };
  const onFatal = (error: Error): never => {
    throw error;
  };
  const system = createSystemClock();
  let passed = 0;
  const clock = { ...system, now: () => system.now() + passed };
  const store = await openSqliteStore({ directory: null, clock, onFatal });
  const server = await buildServer(
    { ...config, apps: { default: app } },
    { logger: SILENT, onFatal, store, clock, models: { [RIG]: model } },
  );
  const { url } = await server.listen();
  const proxy = await FaultProxy.start(url);
  const manual = new ManualClock();
  const wakers = new Set<() => void>();
  const timing = {
    after: (ms: number, callback: () => void) => manual.after(ms, callback),
    random: () => 0.5,
    onWake: (callback: () => void) => {
      wakers.add(callback);
      return () => void wakers.delete(callback);
    },
  };
  return {
    url: proxy.url,
    model,
    proxy,
    clock: manual,
    pass: (ms) => void (passed += ms),
    wake: () => {
      for (const waker of wakers) waker();
    },
    client: (options = {}) => createClient({ baseUrl: proxy.url, timing, ...options }),
    direct: createClient({ baseUrl: url }),
    until: async (condition, ms = 0) => {
      for (let round = 0; !condition(); round += 1) {
        if (round > 20_000) throw new Error(`Condition never became true: ${condition.toString()}`);
        if (ms > 0) await manual.advance(ms);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
    stop: async () => {
      proxy.cut();
      await proxy.stop();
      await server.stop({ graceMs: 0 });
    },
  };
}
