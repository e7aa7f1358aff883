// Converts the items of an answer to the format of the Responses API.

import type { Attachment, Message, ToolResult } from "@colloquy/protocol";
import { asText } from "@colloquy/server/protocol";
import type { Item } from "./answer-part.ts";
import { filePart } from "./input-files.ts";
import { actionRefId, itemId } from "./ids.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/** `server_label` of calls to an App's tools. */
const SERVER_LABEL = "colloquy";

/** Converts an item. `session` becomes part of the ids that clients send back. */
export function outputItem(item: Item, answer: Message, session: string): JsonObject {
  switch (item.kind) {
    case "text":
      return {
        id: itemId("msg", answer.id, item.start),
        type: "message",
        status: statusOf(item, answer),
        role: "assistant",
        content: [outputText(item.text, item.isLast ? answer : null)],
      };
    case "call":
      return {
        id: itemId("fc", answer.id, item.index),
        type: "function_call",
        status: "completed",
        call_id: actionRefId("call", { session, action: item.action.id }),
        name: item.call.name,
        arguments: JSON.stringify(item.call.arguments),
      };
    case "approval":
      return {
        id: actionRefId("mcpr", { session, action: item.action.id }),
        type: "mcp_approval_request",
        server_label: SERVER_LABEL,
        name: item.call.name,
        arguments: JSON.stringify(item.call.arguments),
      };
    case "done-call":
      return {
        id: itemId("mcp", answer.id, item.index),
        type: "mcp_call",
        status: item.result?.is_error === false ? "completed" : "failed",
        server_label: SERVER_LABEL,
        name: item.call.name,
        arguments: JSON.stringify(item.call.arguments),
        ...outcomeOf(item.result),
        // Not a field of OpenAI's, whose `output` is a text.
        ...(item.result?.attachments !== undefined && { files: fileParts(item.result.attachments, session) }),
      };
  }
}

function statusOf({ isDone, isLast }: Extract<Item, { kind: "text" }>, { status }: Message): string {
  if (!isDone) return "in_progress";
  return isLast && (status === "interrupted" || status === "failed") ? "incomplete" : "completed";
}

/**
 * Returns a text part. The sources of `answer` are annotations at the end of the text, because the service does not
 * know which words they support; `null` adds no sources.
 */
export function outputText(text: string, answer: Message | null): JsonObject {
  const annotations = (answer?.sources ?? []).map(({ url, title = url }) => ({
    type: "url_citation",
    start_index: text.length,
    end_index: text.length,
    url,
    title,
  }));
  return { type: "output_text", text, annotations, logprobs: [] };
}

export function reasoningItem(text: string, step: number, answer: Message): JsonObject {
  return {
    id: itemId("rs", answer.id, step),
    type: "reasoning",
    summary: [],
    content: [{ type: "reasoning_text", text }],
    status: "completed",
  };
}

/** Returns the reasoning item of a response with summaries, which has a part for each step with reasoning. */
export function summaryItem(
  texts: readonly string[],
  { answer, from, status }: { readonly answer: Message; readonly from: number; readonly status: string },
): JsonObject {
  return { id: itemId("rs", answer.id, from), type: "reasoning", summary: texts.map(summaryPart), status };
}

export function summaryPart(text: string): JsonObject {
  return { type: "summary_text", text };
}

/** Converts a user message to an item. */
export function userItem(
  { id, content, attachments = [] }: Pick<Message, "id" | "content" | "attachments">,
  session: string,
): JsonObject {
  const files = fileParts(attachments, session);
  return {
    id: itemId("msg", id, 0),
    type: "message",
    status: "completed",
    role: "user",
    content: [
      ...files,
      ...(content === "" && files.length > 0 ? [] : [{ type: "input_text", text: content }]),
    ],
  };
}

/** Returns the `output` of a `function_call_output`: a text, or parts if the result has files. */
export function functionOutput({ output, attachments }: ToolResult, session: string): JsonValue {
  const text = asText(output);
  if (attachments === undefined) return text;
  return [{ type: "input_text", text }, ...fileParts(attachments, session)];
}

function fileParts(files: readonly Attachment[], session: string): JsonObject[] {
  return files.map((file) => filePart(file, session));
}

function outcomeOf(result: ToolResult | null): JsonObject {
  if (result === null) return { output: null, error: "The tool did not run." };
  const text = asText(result.output);
  return result.is_error ? { output: null, error: text } : { output: text, error: null };
}
