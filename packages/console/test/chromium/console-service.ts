// The service with its console, in this process: a model that says what a test tells it to, tools that ask a person, a proxy before it all.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { tool } from "ai";
import { z } from "zod";
import { createClient, type Client } from "@colloquy/client";
import { FaultProxy } from "../../../client/test/fault-proxy.ts";
import { createSystemClock } from "../../../server/src/wiring/clock.ts";
import { loadConfig } from "../../../server/src/config/load-config.ts";
import type { ChainSettings } from "../../../server/src/core/app-settings.ts";
import { Hidden } from "../../../server/src/core/hidden.ts";
import type { Clock } from "../../../server/src/core/ports/driven/clock.ts";
import { buildServer } from "../../../server/src/wiring/server.ts";
import { openSqliteStore } from "../../../server/src/store/sqlite/open.ts";
import { ScriptedModel } from "../../../server/test/scripted-model.ts";
import { buildConsole } from "../../build/build-console.ts";
import { keepUpToDate } from "../../build/keep-up-to-date.ts";

export const ADMIN_KEY = "operator-key-of-the-tests";
export const SCRIPTED = "test/scripted";
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
/** Where the service looks for the console. */
const BUILT = join(import.meta.dirname, "../../dist");

export interface ConsoleService {
  /** Of the proxy, for pages. */
  readonly url: string;
  readonly model: ScriptedModel;
  readonly proxy: FaultProxy;
  /** Nothing stands before it. */
  readonly direct: Client;
  /** Lets the tool `walk` arrive. */
  arrive(): void;
  stop(): Promise<void>;
}

/** Builds the console where it is missing or old. Throws when there is none afterwards. */
export async function prepareConsole(): Promise<void> {
  const told: string[] = [];
  await keepUpToDate(BUILT, { build: buildConsole, tell: (line) => void told.push(line) });
  if (!existsSync(join(BUILT, "index.html"))) throw new Error(told.join("\n"));
}

/** `clock` is what the service takes for the time, `rig` what the model of the tests is called. */
export async function serveConsole({
  clock = createSystemClock(),
  rig = SCRIPTED,
  chains = [],
}: {
  readonly clock?: Clock;
  readonly rig?: string;
  /** Beside the one that nobody is asked on. */
  readonly chains?: readonly ChainSettings[];
} = {}): Promise<ConsoleService> {
  const loaded = await loadConfig({
    environment: { HOST: "127.0.0.1", PORT: "0", COLLOQUY_ADMIN_KEY: ADMIN_KEY },
    workingDirectory: import.meta.dirname,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const base = config.apps["default"]!;
  const arrived = Promise.withResolvers<void>();
  const app = {
    ...base,
    models: [rig, "demo/assistant"],
    utilityModel: "demo/assistant",
    tools: {
      ...base.tools,
      builtIn: ["calculator", "current_time", "ask_user"],
      own: { walk: walkTool(arrived.promise), echo: echoTool() },
      wallet: { chains: [CHAIN, ...chains] },
      approvals: {
        calculator: "always" as const,
        echo: (input: unknown) => JSON.stringify(input).includes('"asked"'),
      },
    },
  };
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory: null, clock, onFatal });
  const model = new ScriptedModel();
  const server = await buildServer(
    { ...config, apps: { default: app } },
    { logger: SILENT, onFatal, store, clock, models: { [rig]: model } },
  );
  const { url } = await server.listen();
  const proxy = await FaultProxy.start(url);
  return {
    url: proxy.url,
    model,
    proxy,
    direct: createClient({ baseUrl: url }),
    arrive: arrived.resolve,
    stop: async () => {
      proxy.cut();
      await proxy.stop();
      await server.stop({ graceMs: 0 });
    },
  };
}

/** Nobody is asked there: what the tests have signed needs no chain. */
const CHAIN = {
  id: 1,
  name: "Ethereum",
  rpcURL: new Hidden("http://127.0.0.1:1"),
  currency: { symbol: "ETH", decimals: 18 },
  contracts: null,
};

/** Tells how far it has come, and waits. */
function walkTool(arrived: Promise<void>) {
  return tool({
    description: "Walks somewhere",
    inputSchema: z.object({ to: z.string() }),
    async *execute({ to }) {
      // What was yielded is progress as soon as something comes after it.
      yield { steps: 7 };
      yield { steps: 8 };
      await arrived;
      yield `At ${to}`;
    },
  });
}

/** Answers whatever it is given. */
function echoTool() {
  return tool({
    description: "Says the same",
    inputSchema: z.object({ value: z.unknown() }),
    execute: ({ value }) => value,
  });
}
