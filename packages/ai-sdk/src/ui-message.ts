// Converts between a session's messages and the AI SDK's `UIMessage`.

import type { Message, PersistedMessage } from "@colloquy/protocol";
import type { UIMessage } from "ai";
import {
  asText,
  filesOf,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  messageParts,
  type MessagePart,
  outcomeOf,
} from "@colloquy/server/protocol";
import { toFilePart } from "./file-parts.ts";
import type { KnownAnswer } from "./answer-chunks.ts";
import { sourceParts } from "./source-parts.ts";

/** Converts a stored message. */
export function toUIMessage(record: PersistedMessage): UIMessage {
  const { id, role, tool_calls, tool_results, content, attachments = [] } = record;
  const message = {
    content,
    ...(tool_calls !== null && { tool_calls }),
    ...(tool_results !== null && { tool_results }),
  };
  const parts = messageParts(message).flatMap((part) => partsOf(part, message));
  return {
    id,
    role,
    parts:
      role === "assistant"
        ? [{ type: "step-start" }, ...parts, ...sourceParts(record)]
        : [...attachments.map(toFilePart), ...parts],
  };
}

function partsOf(part: MessagePart, message: Pick<Message, "tool_results">): UIMessage["parts"] {
  if (part.kind === "text") return [{ type: "text", text: part.text, state: "done" }];
  const { id: toolCallId, name: toolName, arguments: input } = part.call;
  const outcome = outcomeOf(part.call, message) ?? ({ state: "input-available" } as const);
  const files = filesOf(part.call, message).map(toFilePart);
  return [
    { type: "dynamic-tool", toolCallId, toolName, input, providerExecuted: true, ...outcome },
    ...files,
  ];
}

/** A person's answer to a call: an approval or denial, or the output of a call that the page ran. */
export type CallAnswer =
  | { readonly approvalId: string; readonly approved: boolean }
  | { readonly callId: string; readonly output: JsonValue }
  | { readonly callId: string; readonly errorText: string };

/** Returns the page's parts of an answer, and its decisions on the answer's calls. Ignores parts of other origin. */
export function readAnswer(parts: readonly unknown[]): {
  readonly known: KnownAnswer;
  readonly answers: readonly CallAnswer[];
} {
  const objects = parts.filter(isJsonObject);
  const calls = objects.filter(isToolPart);
  const questions = objects.filter(({ type, data }) => type === "data-action" && isJsonObject(data));
  const known = {
    text: objects.map(({ type, text }) => (type === "text" && typeof text === "string" ? text : "")).join(""),
    calls: calls.map(({ toolCallId }) => toolCallId),
    outcomes: calls.filter(hasOutcomeOfService).map(({ toolCallId }) => toolCallId),
    approvals: calls.flatMap(({ approval = null }) => idOf(approval)),
    questions: questions.flatMap(idOf),
    sources: objects.flatMap(({ type, sourceId }) =>
      type === "source-url" && typeof sourceId === "string" ? [sourceId] : [],
    ),
    ownCalls: calls
      .filter(({ providerExecuted }) => providerExecuted !== true)
      .map(({ toolCallId }) => toolCallId),
  };
  return { known, answers: calls.flatMap(answerOf) };
}

type ToolPart = JsonObject & { readonly toolCallId: string };

function isToolPart(part: JsonObject): part is ToolPart {
  const { type, toolCallId } = part;
  return typeof toolCallId === "string" && typeof type === "string" && /^(?:dynamic-tool$|tool-)/.test(type);
}

function hasOutcomeOfService({ state, providerExecuted }: ToolPart): boolean {
  return providerExecuted === true && (state === "output-available" || state === "output-error");
}

function idOf(value: JsonValue): readonly string[] {
  return isJsonObject(value) && typeof value["id"] === "string" ? [value["id"]] : [];
}

function answerOf(part: ToolPart): readonly CallAnswer[] {
  const { toolCallId: callId, state, approval = null, output = null, errorText, providerExecuted } = part;
  if (state === "approval-responded") {
    const approved = isJsonObject(approval) ? approval["approved"] : null;
    // Ignore an approval without a boolean, because a decision cannot be changed.
    if (typeof approved !== "boolean") return [];
    return idOf(approval).map((approvalId) => ({ approvalId, approved }));
  }
  if (providerExecuted === true) return [];
  if (state === "output-available") return [{ callId, output }];
  return state === "output-error" ? [{ callId, errorText: asText(errorText) }] : [];
}
