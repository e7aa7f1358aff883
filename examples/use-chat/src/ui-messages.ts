import type { Message } from "@colloquy/client";
import type { UIMessage } from "ai";

/** A conversation as the AI SDK has it, to begin with. What is being answered is left out: that comes by resuming. */
export function uiMessages(messages: readonly Message[]): UIMessage[] {
  return messages
    .filter(({ status }) => status !== "streaming")
    .map(({ id, sender, content, tool_calls = [], tool_results = [] }) => ({
      id,
      role: sender === "user" ? "user" : "assistant",
      parts: [
        ...tool_calls.map(({ id: toolCallId, name: toolName, arguments: input }) => {
          const output = tool_results.find(({ call_id }) => call_id === toolCallId)?.output ?? null;
          return {
            type: "dynamic-tool",
            toolName,
            toolCallId,
            state: "output-available",
            input,
            output,
          } as const;
        }),
        { type: "text", text: content } as const,
      ],
    }));
}
