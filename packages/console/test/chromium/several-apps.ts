// The service and its console in this process, for developers and operators: the demo model and several Apps,
// one of them with keys.

import { createClient, type Client } from "@colloquy/client";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSystemClock } from "../../../engine/src/wiring/clock.ts";
import { loadConfig } from "../../../server/src/config/load-config.ts";
import type { Clock } from "../../../engine/src/core/ports/driven/clock.ts";
import { buildServer } from "../../../server/src/wiring/server.ts";
import { openSqliteStore } from "../../../engine/src/store/sqlite/open.ts";
import { ScriptedModel } from "../../../testing/src/models/scripted-model.ts";
import { ADMIN_KEY, SCRIPTED } from "./console-service.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

const FILE = {
  apps: {
    default: { models: ["demo/assistant"] },
    support: {
      models: ["demo/assistant"],
      description: "Answers questions of customers",
      requireKey: "chat",
    },
    trips: {
      models: ["demo/assistant"],
      description: "Plans walks in the mountains",
      tools: ["calculator", "ask_user"],
      approvals: { calculator: "always" },
    },
  },
};

/** Nothing listens at these addresses. */
function withBrokenTools() {
  const tools = {
    mcp: { weather: { url: "http://127.0.0.1:9/internal" } },
    openapi: { pets: { document: "http://127.0.0.1:9/pets.json" } },
  };
  return { apps: { ...FILE.apps, support: { ...FILE.apps.support, ...tools } } };
}

export interface SeveralApps {
  readonly url: string;
  /** Plays the model `test/scripted`. */
  readonly model: ScriptedModel;
  readonly client: Client;
  stop(): Promise<void>;
}

export interface SeveralAppsOptions {
  /** Whether the operators' area is enabled; it is when absent. */
  readonly hasAdministration?: boolean;
  /** Whether the MCP server and the OpenAPI document of `support` are missing. */
  readonly hasBrokenTools?: boolean;
  /** The service's clock. */
  readonly clock?: Clock;
}

export async function serveSeveralApps(options: SeveralAppsOptions = {}): Promise<SeveralApps> {
  const { hasAdministration = true, hasBrokenTools = false, clock = createSystemClock() } = options;
  const workingDirectory = await mkdtemp(join(tmpdir(), "colloquy-console-service-"));
  await writeFile(
    join(workingDirectory, "colloquy.config.json"),
    JSON.stringify(hasBrokenTools ? withBrokenTools() : FILE),
  );
  const loaded = await loadConfig({
    environment: {
      HOST: "127.0.0.1",
      PORT: "0",
      ...(hasAdministration && { COLLOQUY_ADMIN_KEY: ADMIN_KEY }),
    },
    workingDirectory,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const model = new ScriptedModel();
  const base = config.apps["default"]!;
  const apps = { ...config.apps, default: { ...base, models: [...base.models, SCRIPTED] } };
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory: null, clock, onFatal });
  const server = await buildServer(
    { ...config, apps },
    { logger: SILENT, onFatal, store, clock, models: { [SCRIPTED]: model } },
  );
  const { url } = await server.listen();
  return {
    url,
    model,
    client: createClient({ baseUrl: url }),
    stop: async () => {
      await server.stop({ graceMs: 0 });
      await rm(workingDirectory, { recursive: true, force: true });
    },
  };
}
