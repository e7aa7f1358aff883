// Creates the models and tools of each App from the configuration.

import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SecretVault } from "../core/ports/driven/secret-store.ts";
import type { Tool } from "../core/ports/driven/tool.ts";
import { createModelCatalog, type ModelCatalogOptions, type ReplaceableModels } from "../models/catalog.ts";
import { builtInTools } from "../tools/built-in/built-in-tools.ts";
import { planMcpServer } from "../tools/mcp/mcp-source.ts";
import { planOpenApi } from "../tools/openapi/openapi-source.ts";
import { createOutbound } from "../tools/outbound/outbound.ts";
import { AppTools, type AppToolsOptions } from "../tools/toolset.ts";
import { fixedSource } from "../tools/tool-source.ts";
import { createWalletTools } from "../tools/wallet/wallet-tools.ts";
import { planOwnTools } from "../tools/own/own-tool.ts";

/** Creates the models by rig; `extraModels` override the configured ones. */
export function createModels(
  config: Config,
  clock: Clock,
  extraModels: Readonly<Record<string, LanguageModelV4>>,
): ReplaceableModels {
  return createModelCatalog({ providers: providersOf(config), clock, extraModels });
}

/** Returns the providers of the model catalog. */
export function providersOf(config: Config): ModelCatalogOptions["providers"] {
  const providers = Object.entries(config.providers).map(([name, { kind, baseURL, contextWindow }]) => {
    const { apiKey, headers } = config.secrets.provider(name);
    const provider = {
      kind,
      headers,
      ...(baseURL !== undefined && { baseURL }),
      ...(apiKey !== null && { apiKey }),
      ...(contextWindow !== undefined && { contextWindow }),
    };
    return [name, provider] as const;
  });
  return Object.fromEntries(providers);
}

export interface ToolFoundations {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly vault: SecretVault | null;
}

/** Creates the tools of each App. For duplicate names, own tools win over built-in ones, and those over servers in their order. */
export function createTools(config: Config, { clock, logger, vault }: ToolFoundations): AppTools {
  const builtIn: Readonly<Record<string, Tool>> = builtInTools(clock);
  const outbound = createOutbound({ clock });
  const plan: AppToolsOptions["plan"] = (_app, { tools }) => [
    planOwnTools(tools.own, logger),
    fixedSource(
      "built-in tools",
      tools.builtIn.flatMap((name) => builtIn[name] ?? []),
    ),
    ...(tools.wallet === null ? [] : [fixedSource("wallet tools", createWalletTools(tools.wallet, clock))]),
    ...Object.entries(tools.mcp).map(([server, settings]) =>
      planMcpServer(server, settings, { clock, logger, effects: tools.effects }),
    ),
    ...Object.entries(tools.openapi).map(([name, settings]) =>
      planOpenApi(name, settings, { clock, logger, outbound }),
    ),
  ];
  return new AppTools(config.apps, { clock, logger, vault, plan, onClosed: () => outbound.close() });
}
