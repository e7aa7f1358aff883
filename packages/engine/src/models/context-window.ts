// Context window sizes. Providers' list endpoints do not report them, so this is a table. Unknown models get
// a conservative size: a history cut too early is better than a rejected call.

/** The API that a provider speaks. */
export type ProviderKind = "demo" | "openai" | "anthropic" | "google" | "openai-compatible" | "plugin";

/** Large enough that a session is never cut: the demo model quotes the first message. */
const demoTokens = 1_000_000;
const hostedTokens = 32_768;
/** Local servers default to small contexts: Ollama to 4,096 tokens, most guides recommend 8,192. */
const localTokens = 8_192;

/**
 * Tokens by model name prefix; the longest matching prefix wins. Where models of a family differ, the
 * smallest size counts. Sources, as of 2026: OpenAI, "Models" (platform.openai.com/docs/models), a page each;
 * Anthropic, "Models overview" (docs.anthropic.com), 200,000 unless a larger window is switched on; Google,
 * "Gemini models" (ai.google.dev), input token limit. A generation newer than this table matches the prefix
 * of the one before it.
 */
const families: ReadonlyArray<readonly [beginning: string, tokens: number]> = [
  ["gpt-3.5-turbo", 16_385],
  ["gpt-3.5-turbo-instruct", 4_096],
  ["gpt-4", 8_192],
  ["gpt-4-32k", 32_768],
  ["gpt-4-turbo", 128_000],
  ["gpt-4-1106", 128_000],
  ["gpt-4-0125", 128_000],
  ["gpt-4o", 128_000],
  ["gpt-4.1", 1_047_576],
  ["gpt-4.5", 128_000],
  ["gpt-5", 400_000],
  ["gpt-5-chat", 128_000],
  ["gpt-5.1-chat", 128_000],
  ["gpt-5.2-chat", 128_000],
  ["gpt-5.3-chat", 128_000],
  ["gpt-6", 400_000],
  ["chatgpt-4o", 128_000],
  ["o1", 200_000],
  ["o1-mini", 128_000],
  ["o1-preview", 128_000],
  ["o3", 200_000],
  ["o4", 200_000],
  ["claude-", 200_000],
  ["claude-2.0", 100_000],
  ["claude-instant", 100_000],
  ["gemini-", 1_048_576],
  ["gemini-1.0", 32_768],
  ["gemini-pro", 32_768],
];

/**
 * Returns the context window in tokens, for prompt and answer together.
 *
 * @param kind kind of the model's provider; `undefined` for a model without a provider
 * @param modelId the provider's name for the model; for a gateway prefixed with the maker (`anthropic/claude-…`)
 */
export function contextWindowOf(kind: ProviderKind | undefined, modelId: string): number {
  if (kind === "demo") return demoTokens;
  const name = modelId.slice(modelId.lastIndexOf("/") + 1).replace(/^ft:/, "");
  let longest = "";
  let tokens = kind === "openai-compatible" || kind === "plugin" ? localTokens : hostedTokens;
  for (const [beginning, size] of families) {
    if (beginning.length > longest.length && name.startsWith(beginning)) {
      longest = beginning;
      tokens = size;
    }
  }
  return tokens;
}
