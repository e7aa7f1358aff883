import { messageParts, type Message, type ToolCall, type ToolResult } from "@colloquy/client";
import type { DynamicToolUIPart, UIMessage } from "ai";
import { words } from "./answer-chunks.ts";

/**
 * Converts a conversation into the AI SDK's initial messages. Leaves out an answer in progress, which arrives
 * by resuming.
 */
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
): DynamicToolUIPart {
  const call = { type: "dynamic-tool", toolName, toolCallId, input, providerExecuted: true } as const;
  const result = results.find(({ call_id }) => call_id === toolCallId);
  // Call of an answer that was stopped before its result.
  if (result === undefined) return { ...call, state: "input-available" };
  if (result.is_error) return { ...call, state: "output-error", errorText: words(result.output) };
  return { ...call, state: "output-available", output: result.output };
}
