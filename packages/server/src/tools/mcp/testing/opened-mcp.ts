// Creates a toolset with one App that has MCP servers.

import { ManualClock } from "../../../../test/manual-clock.ts";
import { schemaChecks } from "../../../../test/schema-checks.ts";
import type { McpServerSettings } from "../../../core/app-settings.ts";
import { Hidden } from "../../../core/hidden.ts";
import type { JsonValue } from "../../../core/json.ts";
import type { Clock } from "../../../core/ports/driven/clock.ts";
import type { SecretVault } from "../../../core/ports/driven/secret-store.ts";
import type { ToolEffect, ToolOutcome, TurnTools } from "../../../core/ports/driven/tool.ts";
import { AppTools } from "../../toolset.ts";
import { recordingLogger } from "../../testing/recording-logger.ts";
import { toolTurn } from "../../testing/tool-turn.ts";
import { planMcpServer } from "../mcp-source.ts";

export interface McpTools {
  readonly toolset: AppTools;
  readonly logger: ReturnType<typeof recordingLogger>;
  readonly clock: Clock;
  open(clientId?: string | null, signal?: AbortSignal): Promise<TurnTools>;
  call(name: string, input?: unknown, more?: Partial<CallOptions>): Promise<ToolOutcome>;
  replace(servers: Readonly<Record<string, McpServerSettings>>): void;
}

interface CallOptions {
  readonly clientId: string | null;
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onProgress: (value: JsonValue) => void;
}

interface McpToolsOptions {
  readonly clock?: Clock;
  /** By client id, then by secret name. */
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly slots?: readonly string[];
  readonly isVaultBroken?: () => boolean;
  readonly effects?: Readonly<Record<string, ToolEffect>>;
}

export function mcpTools(
  servers: Readonly<Record<string, McpServerSettings>>,
  {
    clock = new ManualClock(),
    secrets = {},
    slots = [],
    effects = {},
    isVaultBroken = () => false,
  }: McpToolsOptions = {},
): McpTools {
  const logger = recordingLogger();
  const settingsOf = (mcp: Readonly<Record<string, McpServerSettings>>) => ({
    default: {
      tools: { builtIn: [], own: {}, mcp, openapi: {}, wallet: null, effects, approvals: {} },
      secrets: slots.map((name) => ({ name, description: "", required: false })),
    },
  });
  const vault: SecretVault = {
    isOpen: true,
    names: () => Promise.resolve([]),
    set: () => Promise.resolve(),
    remove: () => Promise.resolve(0),
    open: (_app, client) =>
      isVaultBroken()
        ? Promise.reject(new Error("The vault is broken."))
        : Promise.resolve(new Map(Object.entries(secrets[client] ?? {}))),
  };
  const random = (): number => 1;
  const toolset = new AppTools(settingsOf(servers), {
    clock,
    logger,
    vault,
    plan: (app, { tools }) =>
      Object.entries(tools.mcp).map(([name, settings]) =>
        planMcpServer(name, settings, {
          clock,
          logger,
          random,
          effects: tools.effects,
          schemas: schemaChecks.of(app),
        }),
      ),
  });
  const open: McpTools["open"] = (clientId = null, signal = new AbortController().signal) =>
    toolset.open(toolTurn("default", { clientId }), signal);
  return {
    toolset,
    logger,
    clock,
    open,
    call: async (name, input = {}, { clientId = null, ...more } = {}) => {
      const signal = new AbortController().signal;
      const options = { callId: "call-1", timeoutMs: 60_000, signal, clock, ...more };
      return await (await open(clientId)).call(name, input, options);
    },
    replace: (mcp) => toolset.replace(settingsOf(mcp)),
  };
}

export function httpServer(url: string, headers: Readonly<Record<string, string>> = {}): McpServerSettings {
  return { transport: "http", url, headers: new Hidden(headers) };
}

export function stdioServer(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): McpServerSettings {
  return { transport: "stdio", command, args, env: new Hidden(env) };
}
