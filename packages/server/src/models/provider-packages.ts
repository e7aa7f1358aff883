// Imports each provider's package on first use: together they would add 100 ms and 15 MB to every start.

import { LoadAPIKeyError, type LanguageModelV4, type LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { ProviderKind } from "./context-window.ts";

export interface ProviderSettings {
  readonly kind: ProviderKind;
  /**
   * Base URL of the provider's API; required for `openai-compatible`, otherwise the provider's own by
   * default.
   */
  readonly baseURL?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Context window of its models in tokens; overrides `contextWindowOf`. */
  readonly contextWindow?: number;
}

/** Creates a model from the provider's name for it. */
export type ModelFactory = (modelId: string) => LanguageModelV4;

/** Settings of a provider that is called over the network. */
export type HostedSettings = ProviderSettings & { readonly kind: Exclude<ProviderKind, "demo"> };

/**
 * Imports a provider's package and configures it. Base URL and key are always passed explicitly: the packages would otherwise read
 * them from the environment, and a key must never go to a URL that it was not configured for.
 *
 * @param name the provider's name in the configuration
 */
export async function openProvider(name: string, settings: HostedSettings): Promise<ModelFactory> {
  const headers = { ...settings.headers };
  switch (settings.kind) {
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const baseURL = settings.baseURL ?? "https://api.openai.com/v1";
      const provider = createOpenAI({ baseURL, headers, apiKey: settings.apiKey ?? missingKey(name) });
      // The Responses API, also the package's default: reasoning models keep their reasoning between the
      // steps of a turn, and new models and features appear there first. Servers that only support chat
      // completions are `openai-compatible`.
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
      if (baseURL === undefined)
        throw new TypeError(`provider "${name}" needs a baseURL. Set it in the configuration.`);
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const provider = createOpenAICompatible({
        name,
        baseURL,
        headers,
        // Without this, these servers report no usage for streamed answers.
        includeUsage: true,
        ...(apiKey !== undefined && { apiKey }),
      });
      return (modelId) => provider.chatModel(modelId);
    }
  }
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
