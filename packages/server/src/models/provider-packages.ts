// Each provider's package is imported by the first model that needs it: together they would cost every start 100 ms and 15 MB.

import { LoadAPIKeyError, type LanguageModelV4, type LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { ProviderKind } from "./context-window.ts";

export interface ProviderSettings {
  readonly kind: ProviderKind;
  /** Where the provider's API is; required for `openai-compatible`, else the provider's own address. */
  readonly baseURL?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Tokens that fit its models, where the configuration knows better than `contextWindowOf`. */
  readonly contextWindow?: number;
}

/** Makes a provider's model by the provider's name for it. */
export type ModelFactory = (modelId: string) => LanguageModelV4;

/** A provider that is called over the network. */
export type HostedSettings = ProviderSettings & { readonly kind: Exclude<ProviderKind, "demo"> };

/**
 * Imports the package of a provider and sets it up. Addresses and keys are always given, never left to the packages, which would
 * take them from the environment: a key must not go to an address that it was not configured for.
 *
 * @param name what the configuration calls the provider
 */
export async function openProvider(name: string, settings: HostedSettings): Promise<ModelFactory> {
  const headers = { ...settings.headers };
  switch (settings.kind) {
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const baseURL = settings.baseURL ?? "https://api.openai.com/v1";
      const provider = createOpenAI({ baseURL, headers, apiKey: settings.apiKey ?? missingKey(name) });
      // The Responses API, which is the package's default too: reasoning models keep their reasoning between the steps of a turn
      // there, and new models and features come to it first. Servers that only speak chat completions are `openai-compatible`.
      return (modelId) => withoutStorage(provider.responses(modelId));
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      const baseURL = settings.baseURL ?? "https://api.anthropic.com/v1";
      const credentials =
        settings.apiKey === undefined ? { authToken: missingKey(name) } : { apiKey: settings.apiKey };
      const provider = createAnthropic({ baseURL, headers, ...credentials });
      return (modelId) => provider.messages(modelId);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      const baseURL = settings.baseURL ?? "https://generativelanguage.googleapis.com/v1beta";
      const provider = createGoogle({ baseURL, headers, apiKey: settings.apiKey ?? missingKey(name) });
      return (modelId) => provider.chat(modelId);
    }
    case "openai-compatible": {
      const { baseURL, apiKey } = settings;
      if (baseURL === undefined) throw new TypeError(`The provider ${name} needs a baseURL.`);
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const provider = createOpenAICompatible({
        name,
        baseURL,
        headers,
        // Without it these servers report no usage for streamed answers.
        includeUsage: true,
        ...(apiKey !== undefined && { apiKey }),
      });
      return (modelId) => provider.chatModel(modelId);
    }
  }
}

/** A key that is asked for when a call is made and fails the call, not the setting up. */
function missingKey(name: string): () => never {
  return () => {
    throw new LoadAPIKeyError({ message: `The provider ${name} has no API key.` });
  };
}

/**
 * An OpenAI model that keeps nothing at OpenAI. By default the Responses API stores every answer and the SDK replays history as
 * references to what is stored; such a reference breaks when it expires, is deleted, or belongs to another account. Without storage
 * history is sent as it is, reasoning in encrypted form. A caller that asks for storage itself still gets it.
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
