import type { LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";

/** What the demo model looks at. Everything else in a prompt (instructions, its own earlier answers) is nothing to it. */
export interface DemoConversation {
  /** The session's first user message; `null` when the prompt has none. */
  readonly firstMessage: string | null;
  /** The message that is to be answered. */
  readonly lastMessage: string | null;
  /** Results of the tools called for `lastMessage`; empty before they were. */
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
