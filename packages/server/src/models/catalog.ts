import { createHash } from "node:crypto";
import {
  NoSuchModelError,
  type LanguageModelV4,
  LoadAPIKeyError,
  type LanguageModelV4CallOptions,
} from "@ai-sdk/provider";
import { boundResponses, type BodyBound } from "../core/bounded-body.ts";
import { PROVIDER_URLS } from "../core/provider-addresses.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { ModelCatalog, PromptRules } from "../core/ports/driven/model.ts";
import { contextWindowOf, type ProviderKind } from "./context-window.ts";
import { createDemoModel } from "./demo-model.ts";
import { failureFacts } from "./failure-facts.ts";
import { describeModelFailure } from "./provider-errors.ts";

export interface ModelCatalogOptions {
  /** By provider name: the part of a rig before its first slash. */
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly clock: Clock;
  /** Models by rig that take precedence over the configured ones. */
  readonly extraModels: Readonly<Record<string, LanguageModelV4>>;
  /** Maximum model calls of a turn, for the demo model's steps. */
  readonly maxSteps?: number;
  /** Loads a provider's package; replaced in tests. */
  readonly open?: (name: string, settings: HostedSettings) => Promise<ModelFactory>;
}

/** A catalog whose providers can be replaced atomically. Models already resolved stay usable. */
export interface ReplaceableModels extends ModelCatalog {
  replace(providers: ModelCatalogOptions["providers"]): void;
  /** Returns true for a rig of the demo model. */
  isDemo(rig: string): boolean;
}

/** Creates a catalog. A rig is split at its first slash: `gateway/meta/llama` is `meta/llama` of `gateway`. */
export function createModelCatalog(options: ModelCatalogOptions): ReplaceableModels {
  const { clock, maxSteps, open = openProvider } = options;
  let providers = new Map(Object.entries(options.providers));
  const extraModels = new Map(Object.entries(options.extraModels));
  /** Keyed by settings, so that replaced settings drop their factory. */
  const opened = new WeakMap<ProviderSettings, Promise<ModelFactory>>();

  function factoryOf(name: string, settings: ProviderSettings): Promise<ModelFactory> {
    const known = opened.get(settings);
    if (known !== undefined) return known;
    const factory = isHosted(settings) ? open(name, settings) : Promise.resolve(demoFactory(clock, maxSteps));
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
    promptRules(rig) {
      const { provider, modelId } = splitRig(rig);
      const settings = extraModels.has(rig) ? undefined : providers.get(provider);
      const { kind = "demo", baseURL = "", apiKey = "" } = settings ?? {};
      return { ...RULES[kind], origin: digestOf([kind, baseURL, apiKey, modelId]) };
    },
    isDemo: (rig) => !extraModels.has(rig) && providers.get(splitRig(rig).provider)?.kind === "demo",
    describeFailure: (error) => describeModelFailure(error, clock.now()),
    failureFacts: (error) =>
      failureFacts(
        error,
        [...providers.values()].flatMap(({ apiKey, headers }) => [
          ...(apiKey === undefined ? [] : [apiKey]),
          ...Object.values(headers ?? {}),
        ]),
      ),
    replace: (next) => {
      providers = new Map(Object.entries(next));
    },
  };
}

const NATIVE = { callIds: "word", alternates: false, reasoning: "always" } as const;

/** The rules of each kind of provider. Any model may stand behind an `openai-compatible` one. */
const RULES: Readonly<Record<ProviderKind, Omit<PromptRules, "origin">>> = {
  demo: NATIVE,
  openai: NATIVE,
  anthropic: NATIVE,
  google: NATIVE,
  "openai-compatible": { callIds: "nine", alternates: true, reasoning: "current-turn" },
};

function digestOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}

function isHosted(settings: ProviderSettings): settings is HostedSettings {
  return settings.kind !== "demo";
}

function demoFactory(clock: Clock, maxSteps: number | undefined): ModelFactory {
  const assistant = createDemoModel(clock, maxSteps);
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

export interface ProviderSettings {
  readonly kind: ProviderKind;
  /** Base URL of the API; required for `openai-compatible`, otherwise the provider's own by default. */
  readonly baseURL?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Context window of its models in tokens; overrides `contextWindowOf`. */
  readonly contextWindow?: number;
}

/** Creates a model from the provider's name for it. */
type ModelFactory = (modelId: string) => LanguageModelV4;

/** Settings of a provider that is called over the network. */
type HostedSettings = ProviderSettings & { readonly kind: Exclude<ProviderKind, "demo"> };

/**
 * Imports a provider's package on first use (together they would add 100 ms and 15 MB to every start) and
 * configures it. Base URL and key are always passed explicitly: the packages would otherwise read them from the
 * environment, and a key must never go to a URL that it was not configured for. `name` is the configured one.
 */
async function openProvider(name: string, settings: HostedSettings): Promise<ModelFactory> {
  const headers = { ...settings.headers };
  const fetch = boundResponses(globalThis.fetch, boundOf);
  switch (settings.kind) {
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const baseURL = settings.baseURL ?? PROVIDER_URLS.openai;
      const provider = createOpenAI({ baseURL, headers, fetch, apiKey: settings.apiKey ?? missingKey(name) });
      // The Responses API, also the package's default: reasoning models keep their reasoning between the
      // steps of a turn, and new models and features appear there first. Servers that only support chat
      // completions are `openai-compatible`.
      return (modelId) => withoutStorage(provider.responses(modelId));
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      const baseURL = settings.baseURL ?? PROVIDER_URLS.anthropic;
      const credentials =
        settings.apiKey === undefined ? { authToken: missingKey(name) } : { apiKey: settings.apiKey };
      const provider = createAnthropic({ baseURL, headers, fetch, ...credentials });
      return (modelId) => provider.messages(modelId);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      const baseURL = settings.baseURL ?? PROVIDER_URLS.google;
      const provider = createGoogle({ baseURL, headers, fetch, apiKey: settings.apiKey ?? missingKey(name) });
      return (modelId) => provider.chat(modelId);
    }
    case "openai-compatible": {
      const { baseURL, apiKey } = settings;
      if (baseURL === undefined)
        throw new TypeError(`provider "${name}" needs a baseURL. Set it in the configuration.`);
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const provider = createOpenAICompatible({
        name,
        baseURL,
        headers,
        fetch,
        // Without this, these servers report no usage for streamed answers.
        includeUsage: true,
        ...(apiKey !== undefined && { apiKey }),
      });
      return (modelId) => provider.chatModel(modelId);
    }
  }
}

/** Maximum bytes of a streamed answer: far more than the longest, because each token comes as an event. */
const MAX_STREAM_BYTES = 64 * 1_024 * 1_024;
/** Maximum bytes of an answer at once, and of an error. */
const MAX_ANSWER_BYTES = 4 * 1_024 * 1_024;

function boundOf({ headers }: Response): BodyBound {
  const isStream = headers.get("content-type")?.includes("text/event-stream") === true;
  const maxBytes = isStream ? MAX_STREAM_BYTES : MAX_ANSWER_BYTES;
  return { maxBytes, tooLarge: () => new Error(`The provider sent more than ${maxBytes} bytes.`) };
}

/** Defers the error for a missing key from setup to the first call. */
function missingKey(name: string): () => never {
  return () => {
    throw new LoadAPIKeyError({ message: `provider "${name}" has no API key. Set it in the configuration.` });
  };
}

/**
 * Disables storage at OpenAI. By default the Responses API stores every answer and the SDK replays history as
 * references to stored items, which break when they expire, are deleted, or belong to another account.
 * Without storage the history is sent in full, with encrypted reasoning. A caller can still request storage
 * explicitly.
 */
function withoutStorage(model: LanguageModelV4): LanguageModelV4 {
  const adapt = (options: LanguageModelV4CallOptions): LanguageModelV4CallOptions => {
    const openai = { store: false, ...options.providerOptions?.["openai"] };
    return { ...options, providerOptions: { ...options.providerOptions, openai } };
  };
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate(adapt(options)),
    doStream: (options) => model.doStream(adapt(options)),
  };
}
