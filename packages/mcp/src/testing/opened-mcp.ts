// Creates a toolset with one App that has MCP servers.

import type { z } from "zod";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { schemaChecks } from "../../../server/test/schema-checks.ts";
import type { JsonValue } from "@colloquy/engine/internal/core/json";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { SecretVault } from "@colloquy/engine/internal/core/ports/driven/secret-store";
import type { CallOutcome, ToolEffect, TurnTools } from "@colloquy/engine/internal/core/ports/driven/tool";
import { AppTools } from "@colloquy/engine/internal/tools/toolset";
import { recordingLogger } from "@colloquy/engine/internal/tools/testing/recording-logger";
import { toolTurn } from "@colloquy/engine/internal/tools/testing/tool-turn";
import { pluginToolSource } from "@colloquy/engine/internal/tools/plugin-source";
import { sourceSettings } from "@colloquy/engine/internal/tools/testing/source-settings";
import { McpSource } from "../mcp-source.ts";
import { mcp } from "../plugin.ts";
import { type McpSection, mcpSettings } from "../settings.ts";

export type McpServer = z.output<typeof McpSection>;

export interface McpTools {
  readonly toolset: AppTools;
  readonly logger: ReturnType<typeof recordingLogger>;
  readonly clock: Clock;
  open(clientId?: string | null, signal?: AbortSignal): Promise<TurnTools>;
  call(name: string, input?: unknown, more?: Partial<CallOptions>): Promise<CallOutcome>;
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
  servers: Readonly<Record<string, McpServer>>,
  {
    clock = new ManualClock(),
    secrets = {},
    slots = [],
    effects = {},
    isVaultBroken = () => false,
  }: McpToolsOptions = {},
): McpTools {
  const logger = recordingLogger();
  const random = (): number => 1;
  const plugin: typeof mcp = {
    ...mcp,
    create: (section, context) => new McpSource(mcpSettings(section), { ...context, random }),
  };
  const settingsOf = (entries: Readonly<Record<string, McpServer>>) => ({
    default: {
      tools: {
        builtIn: [],
        own: {},
        sources: Object.entries(entries).map(([name, section]) => sourceSettings(plugin, name, section)),
        wallet: null,
        effects,
        approvals: {},
      },
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
  const guardedFetch = (): Promise<never> => Promise.reject(new Error("MCP servers are not guarded."));
  const toolset = new AppTools(settingsOf(servers), {
    clock,
    logger,
    vault,
    plan: (app, { tools }) =>
      tools.sources.map((source) =>
        pluginToolSource(source, { app, clock, logger, guardedFetch, schemas: schemaChecks.of(app) }),
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
  };
}

/** Fields that the engine adds to the log lines of the server `srv`. */
export const ORIGIN = { app: "default", source: "mcp srv" };

export function httpServer(url: string, headers: Readonly<Record<string, string>> = {}): McpServer {
  return { url, headers: { ...headers } };
}

export function stdioServer(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): McpServer {
  return { command, args: [...args], env: { ...env } };
}
