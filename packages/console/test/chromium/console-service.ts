// The service and its console in this process: a scripted model, tools that need decisions, and a proxy in
// front.

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { tool } from "ai";
import { z } from "zod";
import { createClient, type Client } from "@colloquy/client";
import { FaultProxy } from "../../../client/test/fault-proxy.ts";
import { createSystemClock } from "../../../engine/src/wiring/clock.ts";
import { loadConfig } from "../../../server/src/config/load-config.ts";
import type {
  ApprovalTerms,
  Branding,
  ChainSettings,
  OperatorSettings,
  UserSettings,
} from "../../../engine/src/core/app-settings.ts";
import { Hidden } from "../../../engine/src/core/hidden.ts";
import type { Clock } from "../../../engine/src/core/ports/driven/clock.ts";
import type { ToolContext } from "../../../engine/src/core/ports/driven/tool.ts";
import { FILES } from "../../../engine/src/files/testing/sample-files.ts";
import { buildServer } from "../../../server/src/wiring/server.ts";
import { openSqliteStore } from "../../../engine/src/store/sqlite/open.ts";
import { ScriptedModel } from "../../../testing/src/models/scripted-model.ts";
import { buildConsole } from "../../build/build-console.ts";
import { keepUpToDate } from "../../build/keep-up-to-date.ts";

export const ADMIN_KEY = "operator-key-of-the-tests";
export const SCRIPTED = "test/scripted";
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
/** Where the service looks for the console. */
const BUILT = join(import.meta.dirname, "../../dist");

export interface ConsoleService {
  /** URL of the proxy, for pages. */
  readonly url: string;
  readonly model: ScriptedModel;
  readonly proxy: FaultProxy;
  /** A client that bypasses the proxy. */
  readonly direct: Client;
  /** Completes the tool `walk`. */
  arrive(): void;
  stop(): Promise<void>;
}

/** Builds the console if it is missing or outdated. Throws if there is none afterwards. */
export async function prepareConsole(): Promise<void> {
  const told: string[] = [];
  await keepUpToDate(BUILT, {
    build: (directory) => buildConsole(directory),
    print: (line) => void told.push(line),
    progress: () => undefined,
  });
  if (!existsSync(join(BUILT, "index.html"))) throw new Error(told.join("\n"));
}

/** `clock` is the service's clock, `rig` the name of the scripted model. */
export async function serveConsole({
  clock = createSystemClock(),
  rig = SCRIPTED,
  chains = [],
  wallets = "claimed",
  isPlain = false,
  users = null,
  operators = null,
  approvals = {},
  branding,
}: {
  readonly clock?: Clock;
  readonly rig?: string;
  /** Chains beside the unreachable one. */
  readonly chains?: readonly ChainSettings[];
  /** Whether wallets must sign in. */
  readonly wallets?: "claimed" | "proved";
  /** True for an App without wallet tools. */
  readonly isPlain?: boolean;
  readonly users?: UserSettings | null;
  readonly operators?: OperatorSettings | null;
  /** Settings that are added to `approvals`. */
  readonly approvals?: Readonly<Record<string, ApprovalTerms>>;
  readonly branding?: Branding;
} = {}): Promise<ConsoleService> {
  const loaded = await loadConfig({
    environment: {
      HOST: "127.0.0.1",
      PORT: "0",
      COLLOQUY_ADMIN_KEY: ADMIN_KEY,
      COLLOQUY_SECRET_KEY: randomBytes(32).toString("base64"),
    },
    workingDirectory: import.meta.dirname,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const base = config.apps["default"]!;
  const arrived = Promise.withResolvers<void>();
  const app = {
    ...base,
    models: [rig, "demo/assistant"],
    wallets,
    users,
    branding,
    utilityModel: "demo/assistant",
    tools: {
      ...base.tools,
      builtIn: ["calculator", "current_time", "ask_user"],
      own: { walk: walkTool(arrived.promise), echo: echoTool(), chart: chartTool() },
      wallet: isPlain ? null : { chains: [CHAIN, ...chains] },
      client: { read_page: { description: "Reads the page", inputSchema: { type: "object" as const } } },
      approvals: {
        calculator: "always" as const,
        echo: (input: unknown) => JSON.stringify(input).includes('"asked"'),
        ...approvals,
      },
    },
  };
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory: null, clock, onFatal });
  const model = new ScriptedModel();
  const server = await buildServer(
    { ...config, operators, apps: { default: app } },
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

/** An unreachable chain: what the tests sign needs no RPC. */
const CHAIN = {
  id: 1,
  name: "Ethereum",
  rpcURL: new Hidden("http://127.0.0.1:1"),
  currency: { symbol: "ETH", decimals: 18 },
  contracts: null,
};

/** Reports progress once and waits. */
function walkTool(arrived: Promise<void>) {
  return tool({
    description: "Walks somewhere",
    inputSchema: z.object({ to: z.string() }),
    async *execute({ to }) {
      yield { steps: 7 };
      await arrived;
      yield `At ${to}`;
    },
  });
}

/** Returns an image and a table. */
function chartTool() {
  return tool({
    description: "Draws a chart",
    inputSchema: z.object({}),
    execute: (_input, { context }) => {
      const { attach } = context as unknown as ToolContext;
      attach({ data: FILES.png, mediaType: "image/png", name: "chart.png" });
      attach({ data: FILES.text, mediaType: "text/csv", name: "cups.csv" });
      return { cups: 2 };
    },
  });
}

/** Returns its input. */
function echoTool() {
  return tool({
    description: "Says the same",
    inputSchema: z.object({ value: z.unknown() }),
    execute: ({ value }) => value,
  });
}
