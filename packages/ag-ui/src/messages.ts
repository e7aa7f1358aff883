// Converts messages of a session to AG-UI messages.

import type {
  AssistantMessage,
  ContentPart,
  Message as AgUiMessage,
  ToolCall,
  ToolMessage,
} from "@ag-ui/core";
import type { Message, ToolCall as WireCall } from "@colloquy/protocol";
import { asText, outcomeOf } from "@colloquy/server/protocol";
import { toFilePart } from "./file-parts.ts";
import { callIdOf, partsOf, resultIdOf, withoutSeparator } from "./ids.ts";

export function toAgUiMessages(messages: readonly Message[]): AgUiMessage[] {
  return messages.flatMap((message): AgUiMessage[] => {
    const { sender, id, content, attachments = [] } = message;
    if (sender === "agent") return answerMessages(message);
    // Turns of imported conversations may lack a user message.
    if (attachments.length === 0) return content === "" ? [] : [{ id, role: "user", content }];
    const text: ContentPart[] = content === "" ? [] : [{ type: "text", text: content }];
    return [{ id, role: "user", content: [...attachments.map(toFilePart), ...text] }];
  });
}

function answerMessages(answer: Message): AgUiMessage[] {
  const parts = Map.groupBy(partsOf(answer), ({ message }) => message);
  return [...parts].flatMap(([id, ofMessage]): AgUiMessage[] => {
    const text = ofMessage.map((part) => (part.kind === "text" ? part.text : "")).join("");
    const content = id === answer.id ? text : withoutSeparator(text);
    const calls = ofMessage.filter((part) => part.kind === "call");
    const message: AssistantMessage = {
      id,
      role: "assistant",
      ...(content !== "" && { content }),
      ...(calls.length > 0 && {
        toolCalls: calls.map(({ call, index }) => toToolCall(answer.id, call, index)),
      }),
    };
    return [message, ...calls.flatMap(({ call, index }) => toToolMessage(answer, call, index) ?? [])];
  });
}

function toToolCall(answerId: string, { name, arguments: input }: WireCall, index: number): ToolCall {
  const id = callIdOf(answerId, index);
  return { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
}

function toToolMessage(answer: Message, call: WireCall, index: number): ToolMessage | null {
  const outcome = outcomeOf(call, answer);
  if (outcome === null) return null;
  const id = resultIdOf(answer.id, index);
  return { id, role: "tool", toolCallId: callIdOf(answer.id, index), ...resultOf(outcome) };
}

/** Returns the content of a call's result, and the error if the call failed. */
export function resultOf(
  outcome: NonNullable<ReturnType<typeof outcomeOf>>,
): Pick<ToolMessage, "content" | "error"> {
  if (outcome.state === "output-available") return { content: asText(outcome.output) };
  return { content: outcome.errorText, error: outcome.errorText };
}
