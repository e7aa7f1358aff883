// Builds the response object (https://www.openresponses.org/reference) from a stored turn.

import type { Message } from "@colloquy/protocol";
import type { ProtocolTurn } from "@colloquy/server/protocol";
import { actionsOf, itemsOf, partBefore, type PartRange } from "./answer-part.ts";
import { conversationId, responseId, type ResponseRef } from "./ids.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { outputItem, reasoningItem, summaryItem } from "./output-items.ts";

/** Key of this protocol's data in `ProtocolTurn.note`. */
export const NOTE = "openai";

/** Request fields that the response echoes, with their defaults. */
const ECHOED: JsonObject = {
  previous_response_id: null,
  instructions: null,
  tools: [],
  tool_choice: "auto",
  truncation: "disabled",
  parallel_tool_calls: true,
  text: { format: { type: "text" } },
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  temperature: 1,
  reasoning: null,
  max_output_tokens: null,
  max_tool_calls: null,
  store: true,
  background: false,
  service_tier: "default",
  metadata: {},
  user: null,
  safety_identifier: null,
  prompt_cache_key: null,
};

/** Returns the echoed fields of a request that differ from the defaults. */
export function echoOf(body: JsonObject): JsonObject {
  const kept = Object.entries(body).filter(
    ([name, value]) =>
      Object.hasOwn(ECHOED, name) && value !== null && JSON.stringify(value) !== JSON.stringify(ECHOED[name]),
  );
  const echo = Object.fromEntries(kept);
  const { tools, text } = echo;
  return {
    ...echo,
    ...(Array.isArray(tools) && { tools: tools.map(completeTool) }),
    ...(isJsonObject(text) && { text: { ...text, format: completeFormat(text["format"] ?? null) } }),
  };
}

/** Adds the missing fields of a tool. The specification requires all of them. */
function completeTool(tool: JsonValue): JsonValue {
  return { description: null, parameters: null, strict: true, ...(isJsonObject(tool) ? tool : {}) };
}

function completeFormat(format: JsonValue): JsonValue {
  if (!isJsonObject(format)) return { type: "text" };
  return format["type"] === "json_schema" ? { description: null, strict: true, ...format } : format;
}

export interface StoredResponse {
  readonly ref: ResponseRef;
  readonly range: PartRange;
  readonly turn: ProtocolTurn;
  readonly app: string;
}

export type ResponseStatus = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

const STATUSES: Readonly<Record<ProtocolTurn["state"], ResponseStatus>> = {
  queued: "queued",
  running: "in_progress",
  waiting: "in_progress",
  complete: "completed",
  failed: "failed",
  interrupted: "cancelled",
};

export function statusOf({ range, turn }: Pick<StoredResponse, "range" | "turn">): ResponseStatus {
  if (range.to !== null) return "completed";
  return turn.isCut ? "incomplete" : STATUSES[turn.state];
}

/** Returns the response object with the output so far. */
export function responseObject(stored: StoredResponse): JsonObject {
  const status = statusOf(stored);
  return { ...frameOf(stored, status), output: outputOf(stored), ...endOf(stored, status) };
}

/** Returns the response object without output, for the first events of its stream. */
export function emptyResponse(stored: StoredResponse): JsonObject {
  const status = "in_progress";
  return { ...frameOf(stored, status), output: [], ...endOf(stored, status) };
}

function frameOf({ ref, turn, app }: StoredResponse, status: ResponseStatus): JsonObject {
  const note = turn.note[NOTE];
  return {
    id: responseId(ref),
    object: "response",
    created_at: Math.floor(turn.acceptedAt / 1000),
    status,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    model: turn.model === null ? app : `${app}/${turn.model}`,
    ...ECHOED,
    ...(isJsonObject(note) ? note : {}),
    ...(ref.from > 0 && { previous_response_id: responseId({ ...ref, from: partBefore(turn, ref.from) }) }),
    conversation: { id: conversationId(ref.session) },
  };
}

function outputOf(stored: StoredResponse): JsonValue[] {
  const { turn, range, ref } = stored;
  const { answer } = turn;
  if (answer === null) return [];
  const isOver = turn.endedAt !== null;
  const items = itemsOf({ answer, actions: actionsOf(turn), isOver }, range).map((item) =>
    outputItem(item, answer, ref.session),
  );
  return asksForSummary(turn) ? [summaryOf(stored, answer), ...items] : [...items, ...reasoningOf(stored)];
}

/** Returns true if the turn's request had `reasoning.summary`. */
export function asksForSummary({ note }: Pick<ProtocolTurn, "note">): boolean {
  const own = note[NOTE];
  const reasoning = isJsonObject(own) && isJsonObject(own["reasoning"]) ? own["reasoning"] : {};
  return (reasoning["summary"] ?? reasoning["generate_summary"] ?? null) !== null;
}

/** Returns the reasoning item of a response with summaries, with the ended steps. */
export function summaryOf(stored: StoredResponse, answer: Message): JsonObject {
  const status = isOpen(stored) ? "in_progress" : "completed";
  const texts = reasoningIn(stored).map(({ text }) => text);
  return summaryItem(texts, { answer, from: stored.ref.from, status });
}

function isOpen(stored: Pick<StoredResponse, "range" | "turn">): boolean {
  const status = statusOf(stored);
  return status === "queued" || status === "in_progress";
}

/** Returns the reasoning of the part's steps; empty until the part has ended, because it is stored with its step. */
export function reasoningOf(stored: StoredResponse): JsonObject[] {
  const { answer } = stored.turn;
  if (answer === null || isOpen(stored)) return [];
  return reasoningIn(stored).map(({ text, step }) => reasoningItem(text, step, answer));
}

/** Returns the stored reasoning of the steps in this part of the turn. */
export function reasoningIn({ turn, range }: StoredResponse): ProtocolTurn["reasoning"] {
  const { answer, stepOfCall, reasoning } = turn;
  if (answer === null) return [];
  const steps = (answer.tool_calls ?? []).map(({ id }) => stepOfCall[id] ?? 0);
  const after = range.from === 0 ? 0 : (steps[range.from - 1] ?? 0);
  const last = range.to === null ? Infinity : (steps[range.to - 1] ?? 0);
  return reasoning.filter(({ step }) => step > after && step <= last);
}

function endOf({ turn, range }: StoredResponse, status: ResponseStatus): JsonObject {
  const isOver = status !== "queued" && status !== "in_progress";
  // A part that waits for its client ended when its first action was created.
  const firstAction = turn.actions.find(({ call_id }) => {
    const index = (turn.answer?.tool_calls ?? []).findIndex(({ id }) => id === call_id);
    return index >= range.from && index < (range.to ?? 0);
  });
  const endedAt =
    range.to === null ? turn.endedAt : Date.parse(firstAction?.created_at ?? "") || turn.endedAt;
  const { usage } = turn;
  return {
    completed_at: status === "completed" && endedAt !== null ? Math.floor(endedAt / 1000) : null,
    error:
      status === "failed"
        ? {
            code: turn.failure ?? "server_error",
            message: turn.reason ?? "The assistant could not finish this answer.",
          }
        : null,
    usage: isOver
      ? {
          input_tokens: usage.inputTokens,
          input_tokens_details: { cached_tokens: usage.cachedInputTokens },
          output_tokens: usage.outputTokens,
          output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
          total_tokens: usage.totalTokens,
        }
      : null,
  };
}
