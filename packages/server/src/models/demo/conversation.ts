import type { LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";

/** The parts of a prompt that the demo model uses; it ignores instructions and its own earlier answers. */
export interface DemoConversation {
  /** The session's first user message; `null` if there is none. */
  readonly firstMessage: string | null;
  /** The message to answer. */
  readonly lastMessage: string | null;
  /** Results of the tools called for `lastMessage`; empty before the first call. */
  readonly results: readonly LanguageModelV4ToolResultPart[];
}

export function readConversation(prompt: LanguageModelV4Prompt): DemoConversation {
  let firstMessage: string | null = null;
  let lastMessage: string | null = null;
  let results: readonly LanguageModelV4ToolResultPart[] = [];
  for (const message of prompt) {
    if (message.role === "user") {
      lastMessage = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
      firstMessage ??= lastMessage;
      results = [];
    } else if (message.role === "tool") {
      results = message.content.filter((part) => part.type === "tool-result");
    }
  }
  return { firstMessage, lastMessage, results };
}
