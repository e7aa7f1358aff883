// Converts a message of Colloquy into assistant-ui's shape.

import type { ThreadMessageLike } from "@assistant-ui/react";
import {
  type Attachment,
  mayUserDecide,
  messageParts,
  type Message,
  type PendingAction,
  type ToolCall,
  type ToolCallStatus,
  type ToolResult,
} from "@colloquy/client";
import { completeAttachment } from "./attachment-adapter.ts";
import type { DisplayMessage } from "./display-messages.ts";

/** The `artifact` of a tool call: fields that assistant-ui does not have. */
export interface ToolArtifact {
  readonly status: ToolCallStatus;
  /** The pending action of the call. */
  readonly action: PendingAction | null;
  /** Latest progress while the tool runs, in the tool's own shape. */
  readonly progress: unknown;
  /** Duration in milliseconds; `null` before it has ended. */
  readonly duration_ms: number | null;
  /** Files that the tool returned. */
  readonly attachments: readonly Attachment[];
}

type Part = Exclude<ThreadMessageLike["content"], string>[number];
type ToolCallPart = Extract<Part, { type: "tool-call" }>;
type Arguments = NonNullable<ToolCallPart["args"]>;

/** The name of the data part that holds a `Notice`. */
export const NOTICE_PART = "colloquy-notice";

export function threadMessage(shown: DisplayMessage): ThreadMessageLike {
  const { message, notices, inReplyTo } = shown;
  const { status, data, sources, has_reasoning: hasReasoning, feedback, steering } = message;
  const common = {
    id: message.id,
    createdAt: new Date(message.created_at),
    metadata: { custom: { status, steering: steering?.status, inReplyTo, data, sources, hasReasoning } },
  };
  const told = notices.map((notice) => ({ type: "data", name: NOTICE_PART, data: notice }) as const);
  if (message.sender === "user") {
    const { attachments = [] } = message;
    return {
      ...common,
      role: "user",
      content: [...told, textPart(message.content)],
      attachments: attachments.map(completeAttachment),
    };
  }
  return {
    ...common,
    role: "assistant",
    content: [...told, ...reasoningParts(shown), ...answerParts(shown)],
    status: messageStatus(shown),
    ...(feedback !== undefined &&
      feedback.score !== 0 && {
        metadata: {
          ...common.metadata,
          submittedFeedback: { type: feedback.score > 0 ? "positive" : "negative" } as const,
        },
      }),
  };
}

/** Returns text and calls in order. The last part is a text, because that one grows. */
function answerParts(shown: DisplayMessage): readonly Part[] {
  const { tool_calls: calls = [] } = shown.message;
  const parts = messageParts(shown.message).map((part, at) => {
    if (part.kind === "call") return toolCallPart(part.call, shown, calls.indexOf(part.call));
    // Drop the blank lines between two steps.
    return textPart(at === 0 ? part.text : part.text.replace(/^\n+/, ""));
  });
  return parts.at(-1)?.type === "text" ? parts : [...parts, textPart("")];
}

function reasoningParts({ reasoning }: DisplayMessage): readonly Part[] {
  return (reasoning ?? []).map(({ text }) => ({ type: "reasoning", text }));
}

function textPart(text: string): { readonly type: "text"; readonly text: string } {
  return { type: "text", text };
}

function messageStatus({
  message,
  actions,
  failure,
}: DisplayMessage): NonNullable<ThreadMessageLike["status"]> {
  const status: Message["status"] = message.status;
  switch (status) {
    case "queued":
    case "streaming":
      return actions.length > 0 ? { type: "requires-action", reason: "interrupt" } : { type: "running" };
    case "complete":
      return { type: "complete", reason: "stop" };
    case "interrupted":
      return { type: "incomplete", reason: "cancelled" };
    case "failed":
      return {
        type: "incomplete",
        reason: "error",
        error: failure?.message ?? "The assistant could not finish this answer.",
      };
  }
}

function toolCallPart(
  call: ToolCall,
  { message, actions, progress }: DisplayMessage,
  at: number,
): ToolCallPart {
  const result: ToolResult | undefined = message.tool_results?.find(({ call_id }) => call_id === call.id);
  const action = actions.find(({ call_id }) => call_id === call.id) ?? null;
  const artifact: ToolArtifact = {
    status: call.status,
    action,
    progress: progress[at] ?? null,
    duration_ms: result?.duration_ms ?? null,
    attachments: result?.attachments ?? [],
  };
  return {
    type: "tool-call",
    toolCallId: call.id,
    toolName: call.name,
    args: argumentsOf(call.arguments),
    argsText: JSON.stringify(call.arguments),
    artifact,
    ...(result !== undefined && { result: result.output, isError: result.is_error }),
    ...(action !== null && asked(action)),
  };
}

/** Models may send any JSON as input but assistant-ui takes objects only. `argsText` has the full input. */
function argumentsOf(input: unknown): Arguments {
  return typeof input === "object" && input !== null && !Array.isArray(input) ? (input as Arguments) : {};
}

/**
 * Maps confirmations and questions to assistant-ui's approval. A wallet's result does not fit there, so
 * wallet actions are interrupts, resumed with the decision.
 */
function asked(action: PendingAction): Pick<ToolCallPart, "approval" | "interrupt"> {
  switch (action.kind) {
    case "approval":
      return mayUserDecide(action) ? { approval: { id: action.id } } : {};
    case "question": {
      const { question, choices } = action.request;
      const options = choices.map((label, at) => ({ id: String(at), kind: "allow-once", label }));
      const common = { id: action.id, prompt: question, allowFreeform: true };
      return {
        approval:
          options.length === 0 ? { ...common, display: "text" } : { ...common, display: "select", options },
      };
    }
    case "client_tool":
    case "wallet_transaction":
    case "wallet_signature":
      return { interrupt: { type: "human", payload: action } };
  }
}
