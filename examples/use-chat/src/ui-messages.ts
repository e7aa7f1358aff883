import { messageParts, type Message, type ToolCall, type ToolResult } from "@colloquy/client";
import type { UIMessage } from "ai";

/** A conversation as the AI SDK has it, to begin with. What is being answered is left out: that comes by resuming. */
export function uiMessages(messages: readonly Message[]): UIMessage[] {
  return messages
    .filter(({ status }) => status !== "streaming")
    .map((message) => ({
      id: message.id,
      role: message.sender === "user" ? "user" : "assistant",
      parts: messageParts(message).map((part) =>
        part.kind === "text"
          ? ({ type: "text", text: part.text } as const)
          : toolPart(part.call, message.tool_results ?? []),
      ),
    }));
}

function toolPart(
  { id: toolCallId, name: toolName, arguments: input }: ToolCall,
  results: readonly ToolResult[],
) {
  const output = results.find(({ call_id }) => call_id === toolCallId)?.output ?? null;
  return {
    type: "dynamic-tool",
    toolName,
    toolCallId,
    state: "output-available",
    input,
    output,
  } as const;
}
