import { createHash } from "node:crypto";
import {
  NoSuchModelError,
  type LanguageModelV4,
  LoadAPIKeyError,
  type LanguageModelV4CallOptions,
} from "@ai-sdk/provider";
import { BINARY_TYPES } from "@colloquy/protocol/media-types";
import { boundResponses, type BodyBound } from "../core/bounded-body.ts";
import type { PluginProvider } from "../core/plugins/model-provider.ts";
import { PROVIDER_URLS } from "../core/provider-addresses.ts";
import { isJsonObject } from "../core/json.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { ModelCatalog, PromptRules, SchemaDialect, ToolRules } from "../core/ports/driven/model.ts";
import { contextWindowOf, type ProviderKind } from "./context-window.ts";
import { createDemoModel } from "./demo-model.ts";
import type { ThinkingTags } from "../core/thinking-tags.ts";
import { failureFacts } from "./failure-facts.ts";
import { describeModelFailure } from "./provider-errors.ts";
import { type CreateModel, createStreamedModel } from "./streamed-model.ts";
import type { ProtocolName } from "./stream-protocols.ts";

export interface ModelCatalogOptions {
  /** By provider name: the part of a rig before its first slash. */
  readonly providers: Readonly<Record<string, ProviderSettings>>;
  readonly clock: Clock;
  /** Models by rig that take precedence over the configured ones. */
  readonly extraModels: Readonly<Record<string, LanguageModelV4>>;
  /** Maximum model calls of a turn, for the demo model's steps. */
  readonly maxSteps?: number;
  /** Loads a provider's package; replaced in tests. */
  readonly open?: (name: string, settings: HostedSettings) => Promise<CreateModel>;
  /** Called with warnings for the operator about accepted responses. */
  readonly onWarning?: (rig: string, warning: string) => void;
}

export interface ConfiguredModels extends ModelCatalog {
  /** Returns true for a rig of the demo model. */
  isDemo(rig: string): boolean;
}

/** Creates a catalog. A rig is split at its first slash: `gateway/meta/llama` is `meta/llama` of `gateway`. */
export function createModelCatalog(options: ModelCatalogOptions): ConfiguredModels {
  const { clock, maxSteps, open = openProvider, onWarning = () => undefined } = options;
  const fetch = boundResponses((url, init) => globalThis.fetch(url, init), boundOf);
  const providers = new Map(Object.entries(options.providers));
  const extraModels = new Map(Object.entries(options.extraModels));
  const opened = new WeakMap<ProviderSettings, Promise<ModelFactory>>();

  function factoryOf(name: string, settings: ProviderSettings): Promise<ModelFactory> {
    const known = opened.get(settings);
    if (known !== undefined) return known;
    const factory = createFactory(name, settings);
    opened.set(settings, factory);
    // Do not cache a failure: the next call retries.
    factory.catch(() => opened.delete(settings));
    return factory;
  }

  async function createFactory(name: string, settings: ProviderSettings): Promise<ModelFactory> {
    if (settings.plugin !== undefined) return await openPlugin(name, settings, settings.plugin, fetch);
    if (!isHosted(settings)) return demoFactory(clock, maxSteps);
    return streamedFactory(name, settings, await open(name, settings));
  }

  function streamedFactory(name: string, settings: HostedSettings, create: CreateModel): ModelFactory {
    const { kind, timeoutMs, thinkingTags = kind === "openai-compatible" ? "detect" : "off" } = settings;
    const shared = { protocol: PROTOCOLS[kind], create, fetch, clock, timeoutMs, thinkingTags };
    return (modelId) =>
      createStreamedModel({
        ...shared,
        modelId,
        onWarning: (warning) => onWarning(`${name}/${modelId}`, warning),
      });
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
      const ofPlugin = settings?.plugin?.plugin.contextWindow?.(modelId);
      return settings?.contextWindow ?? ofPlugin ?? contextWindowOf(settings?.kind, modelId);
    },
    promptRules(rig) {
      const { provider, modelId } = splitRig(rig);
      const settings = extraModels.has(rig) ? undefined : providers.get(provider);
      const {
        kind = "demo",
        baseURL = "",
        apiKey = "",
        tools = true,
        fileTypes,
        replayReasoning = true,
      } = settings ?? {};
      return {
        ...RULES[kind],
        ...(!replayReasoning && { reasoning: "never" }),
        files: fileTypes ?? (extraModels.has(rig) ? BINARY_TYPES : FILES[kind]),
        tools,
        origin: digestOf([kind, baseURL, apiKey, modelId]),
      };
    },
    toolRules(rig) {
      const settings = extraModels.has(rig) ? undefined : providers.get(splitRig(rig).provider);
      const rules = TOOL_RULES[settings?.kind ?? "demo"];
      return {
        schemas: settings?.toolSchemas ?? rules.schemas,
        maxTools: settings?.maxTools ?? rules.maxTools,
      };
    },
    isDemo: (rig) => !extraModels.has(rig) && providers.get(splitRig(rig).provider)?.kind === "demo",
    describeFailure: (error) => describeModelFailure(error, clock.now()),
    failureFacts: (error) =>
      failureFacts(
        error,
        [...providers.values()].flatMap(({ apiKey, headers, plugin }) => [
          ...(plugin?.secrets.reveal() ?? []),
          ...(apiKey === undefined ? [] : [apiKey]),
          ...Object.values(headers ?? {}),
        ]),
      ),
  };
}

const NATIVE = { callIds: "word", alternates: false, reasoning: "always" } as const;

/** Prompt rules by provider kind. Those of `openai-compatible` and plugins must suit any model. */
const RULES: Readonly<Record<ProviderKind, Omit<PromptRules, "files" | "origin" | "tools">>> = {
  demo: NATIVE,
  openai: { ...NATIVE, filesInResults: true },
  anthropic: { ...NATIVE, filesInResults: true },
  // Its package makes several results of one with files for models before Gemini 3.
  google: NATIVE,
  "openai-compatible": { callIds: "nine", alternates: true, reasoning: "with-calls" },
  plugin: { callIds: "nine", alternates: true, reasoning: "with-calls" },
};

const IMAGES = BINARY_TYPES.filter((type) => type.startsWith("image/"));

/**
 * Files that the models of a provider take, by kind: what its API documents. A model that does not take one refuses it,
 * and then gets a sentence.
 */
const FILES: Readonly<Record<ProviderKind, readonly string[]>> = {
  demo: [],
  openai: [...IMAGES, "application/pdf"],
  anthropic: [...IMAGES, "application/pdf"],
  google: BINARY_TYPES.filter((type) => type !== "image/gif"),
  "openai-compatible": IMAGES,
  plugin: BINARY_TYPES,
};

/** Protocol by provider kind. */
const PROTOCOLS: Readonly<Record<HostedSettings["kind"], ProtocolName>> = {
  openai: "responses",
  anthropic: "anthropic",
  google: "google",
  "openai-compatible": "chat",
};

/** Maximum for providers that document none, such as Anthropic. Models choose poorly among so many tools. */
const MANY_TOOLS = 1_000;

/** Documented limits on tools by provider kind. */
const TOOL_RULES: Readonly<Record<ProviderKind, ToolRules>> = {
  demo: { schemas: "openai", maxTools: MANY_TOOLS },
  openai: { schemas: "openai", maxTools: 128 },
  anthropic: { schemas: "anthropic", maxTools: MANY_TOOLS },
  google: { schemas: "google", maxTools: 128 },
  "openai-compatible": { schemas: "strictest", maxTools: 128 },
  plugin: { schemas: "strictest", maxTools: 128 },
};

function digestOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}

function isHosted(settings: ProviderSettings): settings is HostedSettings {
  return settings.kind !== "demo" && settings.kind !== "plugin";
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
  readonly baseURL?: string | undefined;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Context window of its models in tokens; overrides `contextWindowOf`. */
  readonly contextWindow?: number | undefined;
  /** Media types of the files that its models take; overrides the kind's. */
  readonly fileTypes?: readonly string[] | undefined;
  /** Maximum milliseconds between two parts of a response. */
  readonly timeoutMs?: number | undefined;
  // Only for `openai-compatible`, whose servers reject different parts of a request.
  readonly tools?: boolean | undefined;
  readonly toolChoice?: boolean | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  readonly streamUsage?: boolean | undefined;
  readonly jsonAnswers?: "json_schema" | "json_object" | "off" | undefined;
  readonly thinkingTags?: ThinkingTags | undefined;
  readonly replayReasoning?: boolean | undefined;
  /** Fields added to each request. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** JSON Schema dialect of tool inputs; overrides the kind's. */
  readonly toolSchemas?: SchemaDialect | undefined;
  /** Maximum tools per request; overrides the kind's. */
  readonly maxTools?: number | undefined;
  /** Present for the kind `plugin`. */
  readonly plugin?: PluginProvider;
}

/** Creates a model from the provider's name for it. */
type ModelFactory = (modelId: string) => LanguageModelV4;

/** Settings of a provider that is called over the network. */
type HostedSettings = ProviderSettings & { readonly kind: Exclude<ProviderKind, "demo" | "plugin"> };

/**
 * Imports a provider's package on first use (together they would add 100 ms and 15 MB to every start) and
 * configures it. Base URL and key are always passed explicitly: the packages would otherwise read them from the
 * environment, and a key must never go to a URL that it was not configured for. `name` is the configured one.
 */
async function openProvider(name: string, settings: HostedSettings): Promise<CreateModel> {
  const headers = { ...settings.headers };
  switch (settings.kind) {
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const baseURL = settings.baseURL ?? PROVIDER_URLS.openai;
      const apiKey = settings.apiKey ?? missingKey(name);
      // The Responses API, also the package's default: reasoning models keep their reasoning between the
      // steps of a turn, and new models and features appear there first. Servers that only support chat
      // completions are `openai-compatible`.
      return (modelId, fetch) =>
        withoutStorage(createOpenAI({ baseURL, headers, fetch, apiKey }).responses(modelId));
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      const baseURL = settings.baseURL ?? PROVIDER_URLS.anthropic;
      const credentials =
        settings.apiKey === undefined ? { authToken: missingKey(name) } : { apiKey: settings.apiKey };
      return (modelId, fetch) =>
        createAnthropic({ baseURL, headers, fetch, ...credentials }).messages(modelId);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      const baseURL = settings.baseURL ?? PROVIDER_URLS.google;
      const apiKey = settings.apiKey ?? missingKey(name);
      return (modelId, fetch) => createGoogle({ baseURL, headers, fetch, apiKey }).chat(modelId);
    }
    case "openai-compatible": {
      const { baseURL, apiKey, streamUsage = true, jsonAnswers } = settings;
      if (baseURL === undefined)
        throw new TypeError(`provider "${name}" needs a baseURL. Set it in the configuration.`);
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const shared = {
        name,
        baseURL,
        headers,
        // Without this, these servers report no usage for streamed answers.
        includeUsage: streamUsage,
        supportsStructuredOutputs: jsonAnswers === "json_schema",
        transformRequestBody: (body: object) => adaptBody(body, settings),
        ...(apiKey !== undefined && { apiKey }),
      };
      return (modelId, fetch) => createOpenAICompatible({ ...shared, fetch }).chatModel(modelId);
    }
  }
}

/** Creates a plugin's provider. Its models parse their streams themselves. */
async function openPlugin(
  name: string,
  { baseURL, apiKey, headers = {} }: ProviderSettings,
  { plugin, settings }: PluginProvider,
  fetch: typeof globalThis.fetch,
): Promise<ModelFactory> {
  const context = { name, apiKey: apiKey ?? null, baseURL: baseURL ?? null, headers: { ...headers }, fetch };
  const provider = await plugin.create(settings.reveal() as never, context);
  return (modelId) => provider.model(modelId);
}

/** Applies the settings of an `openai-compatible` provider to the body of a request. */
function adaptBody(body: object, settings: ProviderSettings): Record<string, unknown> {
  const adapted: Record<string, unknown> = { ...body };
  if (settings.toolChoice === false) delete adapted["tool_choice"];
  if (settings.parallelToolCalls !== undefined && adapted["tools"] !== undefined)
    adapted["parallel_tool_calls"] = settings.parallelToolCalls;
  if (settings.jsonAnswers === "off") delete adapted["response_format"];
  const { response_format: format } = adapted;
  // A client's schema may not meet the additional rules of strict schemas.
  if (isJsonObject(format) && isJsonObject(format["json_schema"]))
    adapted["response_format"] = { ...format, json_schema: { ...format["json_schema"], strict: false } };
  return { ...adapted, ...settings.body };
}

/** Maximum bytes of a streamed response, including the overhead of one event per token. */
const MAX_STREAM_BYTES = 64 * 1_024 * 1_024;
/** Maximum bytes of a non-streaming response or an error. */
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
