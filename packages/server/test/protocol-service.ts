// Starts a service with a scripted model, for tests of protocols.

import { KeyAdministration } from "@colloquy/engine/internal/apps/keys/key-administration";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { Config } from "../src/config/config.ts";
import { loadConfig } from "../src/config/load-config.ts";
import { buildServer, type ColloquyServer } from "../src/wiring/server.ts";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const RIG = "test/scripted";

export interface ProtocolService {
  readonly model: ScriptedModel;
  /** Base URL of the service. */
  readonly url: string;
  /** Creates and returns a key for these Apps. */
  createKey(...apps: readonly string[]): Promise<string>;
  /** Returns the ids of all stored conversations. */
  sessions(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface ProtocolServiceOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly adjust?: (config: Config) => Config;
  /** Sections of `protocols`, by name. */
  readonly protocols?: Readonly<Record<string, object>>;
}

/** Environment of a service that serves protocols only to Apps that its configuration names. */
export const BEHIND_PROXY = { COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" };

/** Gives the default App a tool that needs approval, and one that asks the user. */
export function withAskingTools(config: Config): Config {
  const { default: app, ...apps } = config.apps;
  const tools = {
    ...app!.tools,
    builtIn: ["calculator", "ask_user"] as const,
    approvals: { calculator: "always" as const },
  };
  return { ...config, apps: { ...apps, default: { ...app!, tools } } };
}

/** Starts a service whose Apps `default`, `shop` and `club` use the scripted model and allow client tools. */
export async function startProtocolService({
  environment = {},
  adjust = (config) => config,
  protocols = {},
}: ProtocolServiceOptions = {}): Promise<ProtocolService> {
  const loaded = await loadConfig({
    environment: { HOST: "127.0.0.1", PORT: "0", ...environment },
    workingDirectory: import.meta.dirname,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const app = config.apps["default"]!;
  const tools = { ...app.tools, allowsClientTools: true };
  const own = { ...app, models: [RIG, "demo/assistant"], utilityModel: "demo/assistant", tools };
  const model = new ScriptedModel();
  const clock = createSystemClock();
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory: null, clock, onFatal });
  const changed = Object.entries(protocols).map(([name, settings]) => [name, new Hidden(settings)] as const);
  const settings = { ...config.protocols, ...Object.fromEntries(changed) };
  const server: ColloquyServer = await buildServer(
    adjust({ ...config, apps: { ...config.apps, default: own, shop: own, club: own }, protocols: settings }),
    { logger: SILENT, onFatal, clock, store, models: { [RIG]: model } },
  );
  const { url } = await server.listen();
  return {
    model,
    url,
    async createKey(...apps) {
      const keys = new KeyAdministration({ store: store.keys, clock, apps: () => ["shop", "club"] });
      return (await keys.create({ apps, scopes: [], name: null, expiresInMs: null })).key;
    },
    async sessions() {
      const listed = await store.admin.used({ app: null, after: null, limit: 1000 });
      return listed.map(({ id }) => id);
    },
    close: () => server.stop({ graceMs: 0 }),
  };
}
