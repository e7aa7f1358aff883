import { expect, it } from "vitest";
import { contextWindowOf, type ProviderKind } from "./context-window.ts";

it.each<[ProviderKind | undefined, string, number]>([
  ["demo", "assistant", 1_000_000],
  ["openai", "gpt-4", 8_192],
  ["openai", "gpt-4-0613", 8_192],
  ["openai", "gpt-4-turbo-2024-04-09", 128_000],
  ["openai", "gpt-4o-mini", 128_000],
  ["openai", "gpt-4.1-nano", 1_047_576],
  ["openai", "ft:gpt-4o-mini-2024-07-18:acme::id", 128_000],
  ["openai", "gpt-5.2", 400_000],
  ["openai", "gpt-5-chat-latest", 128_000],
  ["openai", "o3-mini", 200_000],
  ["openai", "something-new", 32_768],
  ["anthropic", "claude-sonnet-4-5-20250929", 200_000],
  ["anthropic", "claude-2.0", 100_000],
  ["google", "gemini-2.5-flash", 1_048_576],
  ["google", "gemini-pro", 32_768],
  ["openai-compatible", "llama3.2", 8_192],
  ["openai-compatible", "gpt-oss:20b", 8_192],
  ["openai-compatible", "anthropic/claude-sonnet-4.5", 200_000],
  [undefined, "scripted", 32_768],
])("returns for %s %s a window of %i tokens", (kind, model, tokens) => {
  expect(contextWindowOf(kind, model)).toBe(tokens);
});
