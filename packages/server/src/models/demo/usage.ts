import type { LanguageModelV4Prompt, LanguageModelV4Usage } from "@ai-sdk/provider";

/**
 * Estimates the demo model's usage: one token for every four UTF-16 units of text, calls and results, rounded
 * up, which is typical for English.
 */
export function demoUsage(prompt: LanguageModelV4Prompt, outputCharacters: number): LanguageModelV4Usage {
  let inputCharacters = 0;
  for (const message of prompt) {
    if (message.role === "system") inputCharacters += message.content.length;
    else for (const part of message.content) inputCharacters += charactersOf(part);
  }
  const input = Math.ceil(inputCharacters / 4);
  const output = Math.ceil(outputCharacters / 4);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: output, reasoning: undefined },
  };
}

type PromptPart = Exclude<LanguageModelV4Prompt[number], { role: "system" }>["content"][number];

function charactersOf(part: PromptPart): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.length;
    case "tool-call":
      return JSON.stringify(part.input ?? null).length;
    case "tool-result":
      return JSON.stringify(part.output).length;
    default:
      return 0;
  }
}
