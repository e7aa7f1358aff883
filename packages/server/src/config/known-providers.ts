import type { ProviderKind } from "./config.ts";

/** The environment variable that usually holds the base URL of a provider. */
export interface KnownAddress {
  readonly variable: string;
  /** Version that the provider's own tools append to the URL. It is appended here too, unless the URL ends in a version. */
  readonly version: string | null;
}

export interface KnownProvider {
  readonly name: ProviderKind;
  /** Environment variables that usually hold its key; the first that is set wins. Empty for a provider without a key. */
  readonly keyVariables: readonly string[];
  readonly address: KnownAddress | null;
  /** The rig that it offers if no configuration file lists models. */
  readonly defaultRig: string;
}

/** Name of the provider that is always available. */
export const DEMO_PROVIDER = "demo";
/** Its only model. */
export const DEMO_MODEL = "assistant";

/**
 * Providers that need no entry in a configuration file. The default models are those that the documentation of the installed
 * AI SDK packages uses for everyday chat; they are a starting point, to be changed when the packages are upgraded.
 * The demo comes last, so that it is the default only if no other provider is configured.
 */
export const KNOWN_PROVIDERS: readonly KnownProvider[] = [
  {
    name: "openai",
    keyVariables: ["OPENAI_API_KEY"],
    address: { variable: "OPENAI_BASE_URL", version: null },
    defaultRig: "openai/gpt-6-astra",
  },
  {
    name: "anthropic",
    keyVariables: ["ANTHROPIC_API_KEY"],
    address: { variable: "ANTHROPIC_BASE_URL", version: "v1" },
    defaultRig: "anthropic/claude-sonnet-5-5",
  },
  {
    name: "google",
    keyVariables: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    address: { variable: "GOOGLE_GEMINI_BASE_URL", version: "v1beta" },
    defaultRig: "google/gemini-4-argon",
  },
  { name: DEMO_PROVIDER, keyVariables: [], address: null, defaultRig: "demo/assistant" },
];
