// What a model is told of a session: its turns in order, each step as it was, cut to the model's context window.

import type { ModelMessage } from "ai";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { MessageRecord } from "../core/message.ts";
import type { PastTurn } from "../core/ports/turn-store.ts";
import type { StepRecord } from "../core/turn.ts";

/** Share of the context window that the prompt may take; the rest is for the answer. */
const PROMPT_SHARE = 0.75;
/** Bytes of UTF-8 that count as a token: low for English, so that other languages and code fit too. */
const BYTES_PER_TOKEN = 3;

/** Bytes of history that fit a context window of so many tokens. */
export function historyBudget(contextWindow: number, instructions: string): number {
  return Math.max(
    0,
    Math.floor(contextWindow * PROMPT_SHARE) * BYTES_PER_TOKEN - Buffer.byteLength(instructions),
  );
}

/**
 * The turns as messages for a model, oldest first: as many of the last ones as fit into `budget` bytes, at least the last. Turns are
 * cut whole, so that every call stays with its result and the first message is a user's.
 */
export function toModelMessages(turns: readonly PastTurn[], budget: number): ModelMessage[] {
  const kept: ModelMessage[][] = [];
  let bytes = 0;
  for (const turn of turns.toReversed()) {
    const messages = turnMessages(turn);
    bytes += Buffer.byteLength(JSON.stringify(messages));
    if (kept.length > 0 && bytes > budget) break;
    kept.push(messages);
  }
  return kept.toReversed().flat();
}

/** The messages that one finished step adds: what the assistant said and called, and the results of its calls. */
export function stepMessages(
  step: Pick<StepRecord, "parts">,
  results: ReadonlyMap<string, { readonly output: JsonValue; readonly is_error: boolean }>,
): ModelMessage[] {
  const parts = Array.isArray(step.parts) ? (step.parts as JsonObject[]) : [];
  if (parts.length === 0) return [];
  const calls = parts.filter((part) => part["type"] === "tool-call");
  const messages = [{ role: "assistant", content: parts }] as unknown as ModelMessage[];
  if (calls.length > 0) {
    const content = calls.map((call) => toolResultPart(call, results.get(callIdOf(call))));
    messages.push({ role: "tool", content } as unknown as ModelMessage);
  }
  return messages;
}

function turnMessages(turn: PastTurn): ModelMessage[] {
  const messages: ModelMessage[] = [{ role: "user", content: turn.userMessage.content }];
  if (turn.agentMessage === null) return messages;
  const results = new Map(turn.agentMessage.toolResults.map((result) => [result.call_id, result]));
  for (const step of turn.steps) messages.push(...stepMessages(step, results));
  const rest = unfinishedText(turn.agentMessage, turn.steps);
  if (rest !== "" && turn.state !== "running") messages.push({ role: "assistant", content: rest });
  return messages;
}

/** What an interrupted or failed turn had said beyond its last finished step. */
function unfinishedText(message: MessageRecord, steps: readonly StepRecord[]): string {
  const said = steps.map((step) => step.text).filter((text) => text !== "");
  return message.content.slice(said.join("\n\n").length).trim();
}

function toolResultPart(
  call: JsonObject,
  result: { readonly output: JsonValue; readonly is_error: boolean } | undefined,
): JsonObject {
  const output = result?.output ?? "interrupted";
  const isError = result?.is_error ?? true;
  const isText = typeof output === "string";
  const type = `${isError ? "error-" : ""}${isText ? "text" : "json"}`;
  return {
    type: "tool-result",
    toolCallId: callIdOf(call),
    toolName: call["toolName"] ?? "",
    output: { type, value: output },
  };
}

function callIdOf(call: JsonObject): string {
  const id = call["toolCallId"];
  return typeof id === "string" ? id : "";
}
