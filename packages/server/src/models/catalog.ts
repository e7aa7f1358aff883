import { NoSuchModelError, type LanguageModelV4 } from "@ai-sdk/provider";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { ModelCatalog } from "../core/ports/driven/model.ts";
import { contextWindowOf } from "./context-window.ts";
import { createDemoModel } from "./demo-model.ts";
import { describeModelFailure } from "./provider-errors.ts";
import {
  type HostedSettings,
  type ModelFactory,
  openProvider,
  type ProviderSettings,
} from "./provider-packages.ts";

export interface ModelCatalogOptions {
  /** By provider name: the part of a rig before its first slash. */
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly clock: Clock;
  /** Models by rig that take precedence over the configured ones. */
  readonly extraModels: Readonly<Record<string, LanguageModelV4>>;
  /** Loads a provider's package; replaced in tests. */
  readonly open?: (name: string, settings: HostedSettings) => Promise<ModelFactory>;
}

type ProvidersByName = ModelCatalogOptions["providers"];

/** A catalog whose providers can be replaced atomically. Models already resolved stay usable. */
export interface ReplaceableModels extends ModelCatalog {
  replace(providers: ProvidersByName): void;
}

/**
 * Creates a catalog. A rig is split at its first slash: `gateway/meta/llama` is the model `meta/llama` of
 * `gateway`.
 */
export function createModelCatalog(options: ModelCatalogOptions): ReplaceableModels {
  const { clock, open = openProvider } = options;
  let providers = new Map(Object.entries(options.providers));
  const extraModels = new Map(Object.entries(options.extraModels));
  /** Keyed by settings, so that replaced settings drop their factory. */
  const opened = new WeakMap<ProviderSettings, Promise<ModelFactory>>();

  function factoryOf(name: string, settings: ProviderSettings): Promise<ModelFactory> {
    const known = opened.get(settings);
    if (known !== undefined) return known;
    const factory = isHosted(settings) ? open(name, settings) : Promise.resolve(demoFactory(clock));
    opened.set(settings, factory);
    // Do not cache a failure: the next call retries.
    factory.catch(() => opened.delete(settings));
    return factory;
  }

  return {
    async resolve(rig) {
      const extra = extraModels.get(rig);
      if (extra !== undefined) return extra;
      const { provider, modelId } = splitRig(rig);
      const settings = providers.get(provider);
      if (settings === undefined || modelId === "") throw noSuchModel(rig, "No such provider or model");
      const factory = await factoryOf(provider, settings);
      return factory(modelId);
    },
    contextWindow(rig) {
      const { provider, modelId } = splitRig(rig);
      if (extraModels.has(rig)) return contextWindowOf(undefined, modelId);
      const settings = providers.get(provider);
      return settings?.contextWindow ?? contextWindowOf(settings?.kind, modelId);
    },
    describeFailure: (error) => describeModelFailure(error, clock.now()),
    replace: (next) => {
      providers = new Map(Object.entries(next));
    },
  };
}

function isHosted(settings: ProviderSettings): settings is HostedSettings {
  return settings.kind !== "demo";
}

function demoFactory(clock: Clock): ModelFactory {
  const assistant = createDemoModel(clock);
  return (modelId) => {
    if (modelId !== assistant.modelId)
      throw noSuchModel(modelId, 'The demo provider has only the model "assistant"');
    return assistant;
  };
}

function noSuchModel(modelId: string, message: string): NoSuchModelError {
  return new NoSuchModelError({ modelId, modelType: "languageModel", message: `${message}: ${modelId}` });
}

function splitRig(rig: string): { readonly provider: string; readonly modelId: string } {
  const slash = rig.indexOf("/");
  if (slash < 0) return { provider: rig, modelId: "" };
  return { provider: rig.slice(0, slash), modelId: rig.slice(slash + 1) };
}
