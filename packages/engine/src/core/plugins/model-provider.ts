// Port for model-provider plugins, which add a provider `kind`.

import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { z } from "zod";
import type { Hidden } from "../hidden.ts";
import { definePlugin, type Plugin, type PluginMetadata } from "./plugin.ts";

/** The models of one provider in the configuration. */
export interface ModelProvider {
  /** Returns the model with this id: `large` for the rig `acme/large`. Throws an Error if the model does not exist. */
  model(id: string): LanguageModelV4;
}

/** Connection settings and services, passed to `create` beside the plugin's own settings. */
export interface ProviderContext {
  /** Name of the provider in the configuration. */
  readonly name: string;
  /** Value of the environment variable that `apiKeyEnv` names; `null` without `apiKeyEnv`. */
  readonly apiKey: string | null;
  readonly baseURL: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** `fetch` that limits the size of responses. Pass it to the provider's library. */
  readonly fetch: typeof globalThis.fetch;
}

export interface ModelProviderDefinition<Name extends string, Settings extends z.ZodObject>
  extends PluginMetadata {
  /** The provider `kind` in the configuration. */
  readonly name: Name;
  /** Schema of the additional settings; `describe` documents them. All may contain `{{env.NAME}}`. */
  readonly settings?: Settings | undefined;
  /** Returns a model's context window in tokens; default 8,192. The setting `contextWindow` takes precedence. */
  contextWindow?(id: string): number | undefined;
  /** Creates the provider. Called on first use, and again if it fails. */
  create(settings: z.output<Settings>, context: ProviderContext): ModelProvider | Promise<ModelProvider>;
}

export interface ModelProviderPlugin<Name extends string = string, Settings extends z.ZodObject = z.ZodObject>
  extends ModelProviderDefinition<Name, Settings> {
  readonly kind: "colloquy/model-provider";
}

/** Defines a plugin that adds a model provider `kind`. */
export function defineModelProvider<
  const Name extends string,
  Settings extends z.ZodObject = z.ZodObject<{}>,
>(definition: ModelProviderDefinition<Name, Settings>): ModelProviderPlugin<Name, Settings> {
  return definePlugin("model-provider", definition);
}

export function isModelProvider(plugin: Plugin): plugin is ModelProviderPlugin {
  return plugin.kind === "colloquy/model-provider";
}

/** A configured provider whose kind belongs to a plugin. */
export interface PluginProvider {
  readonly plugin: ModelProviderPlugin;
  /** Settings as parsed by the plugin's schema. */
  readonly settings: Hidden<unknown>;
  /** Values filled in for placeholders. */
  readonly secrets: Hidden<readonly string[]>;
}
