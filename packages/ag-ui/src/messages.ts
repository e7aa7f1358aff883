// Converts messages of a session to AG-UI messages.

import type {
  AssistantMessage,
  ContentPart,
  Message as AgUiMessage,
  ToolCall,
  ToolMessage,
} from "@ag-ui/core";
import type { Message, ToolCall as WireCall } from "@colloquy/protocol";
import { asText, filesOf, outcomeOf } from "@colloquy/server/protocol";
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
  const result = resultOf(call, answer);
  if (result === null) return null;
  const id = resultIdOf(answer.id, index);
  return { id, role: "tool", toolCallId: callIdOf(answer.id, index), ...result };
}

/** Returns the content of a call's result, and the error if the call failed; `null` while the call runs. */
export function resultOf(call: WireCall, answer: Message): Pick<ToolMessage, "content" | "error"> | null {
  const outcome = outcomeOf(call, answer);
  if (outcome === null) return null;
  if (outcome.state === "output-error") return { content: outcome.errorText, error: outcome.errorText };
  const text = asText(outcome.output);
  const files = filesOf(call, answer);
  return { content: files.length === 0 ? text : [{ type: "text", text }, ...files.map(toFilePart)] };
}
