// What the assistant of each App works with, made from the configuration: models and tools.

import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Config } from "./config/config.ts";
import type { Clock } from "./core/ports/clock.ts";
import type { ModelCatalog } from "./core/ports/model.ts";
import type { Tool, ToolRegistry } from "./core/ports/tool.ts";
import { createModelCatalog } from "./models/catalog.ts";
import { builtInTools } from "./tools/built-in/built-in-tools.ts";
import { createToolRegistry } from "./tools/registry.ts";

/** Models by rig; `extraModels` stand beside and before the configured ones. */
export function createModels(
  config: Config,
  clock: Clock,
  extraModels: Readonly<Record<string, LanguageModelV4>>,
): ModelCatalog {
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
  return createModelCatalog({ providers: Object.fromEntries(providers), clock, extraModels });
}

/** The tools of each App, by their names in the configuration. */
export function createTools(config: Config, clock: Clock): ToolRegistry {
  const builtIn: Readonly<Record<string, Tool>> = builtInTools(clock);
  const byApp = Object.entries(config.apps).map(([app, { tools }]) => {
    const chosen = tools.builtIn.map((name) => builtIn[name]).filter((tool) => tool !== undefined);
    return [app, chosen] as const;
  });
  return createToolRegistry(Object.fromEntries(byApp));
}
