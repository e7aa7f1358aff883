// What a model is told of a session: its turns in order, each step as it was, cut to the model's context window.

import type { ModelMessage } from "ai";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { MessageRecord } from "../core/message.ts";
import type { PastTurn } from "../core/ports/turn-store.ts";
import type { StepRecord } from "../core/turn.ts";
import type { ToolResults } from "./tool-calls.ts";

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

/** Messages that stay together: what the user said, or a step with the results of its calls. */
interface Block {
  readonly messages: readonly ModelMessage[];
  readonly bytes: number;
}

/** What a model is sent, which grows with each step of the turn that runs and never leaves its budget without need. */
export class HistoryWindow {
  /** The blocks of each turn, oldest first; a turn's first is what the user said. */
  readonly #turns: Block[][];
  readonly #budget: number;

  /** `budget` in bytes; the turn that runs is the last of `turns`. */
  constructor(turns: readonly PastTurn[], budget: number) {
    this.#turns = turns.map((turn) => turnBlocks(turn));
    this.#budget = budget;
  }

  /** The turn that runs has finished a step. */
  addStep(step: Pick<StepRecord, "parts">, results: ToolResults): void {
    this.#turns.at(-1)?.push(...blocksOf(stepMessages(step, results)));
  }

  /**
   * Messages for a model, oldest first: as many of the last turns as fit into the budget. Turns are left out whole, so that every call
   * stays with its result and the first message is a user's. A last turn that is too large by itself loses its oldest steps, but never
   * what the user said nor its last step.
   */
  messages(): ModelMessage[] {
    const kept: Block[] = [];
    let bytes = 0;
    for (const [age, blocks] of this.#turns.toReversed().entries()) {
      const size = blocks.reduce((sum, block) => sum + block.bytes, 0);
      if (age > 0 && bytes + size > this.#budget) break;
      bytes += size;
      kept.unshift(...(age === 0 ? lastSteps(blocks, size - this.#budget) : blocks));
    }
    return kept.flatMap(({ messages }) => messages);
  }
}

/** The turn without so many of its oldest steps that it is smaller by `excess` bytes, if need be and as far as possible. */
function lastSteps([user, ...steps]: readonly Block[], excess: number): Block[] {
  let left = excess;
  let first = 0;
  for (; left > 0 && first < steps.length - 1; first += 1) left -= steps[first]?.bytes ?? 0;
  return [...(user === undefined ? [] : [user]), ...steps.slice(first)];
}

/** The messages that one finished step adds: what the assistant said and called, and the results of its calls. */
function stepMessages(step: Pick<StepRecord, "parts">, results: ToolResults): ModelMessage[] {
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

function turnBlocks(turn: PastTurn): Block[] {
  const blocks = blocksOf([{ role: "user", content: turn.userMessage.content }]);
  if (turn.agentMessage === null) return blocks;
  const results = new Map(turn.agentMessage.toolResults.map((result) => [result.call_id, result]));
  for (const step of turn.steps) blocks.push(...blocksOf(stepMessages(step, results)));
  const rest = unfinishedText(turn.agentMessage, turn.steps);
  if (rest !== "" && turn.state !== "running")
    blocks.push(...blocksOf([{ role: "assistant", content: rest }]));
  return blocks;
}

function blocksOf(messages: readonly ModelMessage[]): Block[] {
  return messages.length === 0 ? [] : [{ messages, bytes: Buffer.byteLength(JSON.stringify(messages)) }];
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
