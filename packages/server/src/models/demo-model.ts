// A deterministic model that needs no key and no network. It implements the same interface as the providers'
// models, so streaming, tools, interrupts and recovery run through the real code.

import { createHash } from "node:crypto";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4ToolCall,
} from "@ai-sdk/provider";
import type { Clock } from "../core/ports/driven/clock.ts";
import { answerTo, type DemoAnswer } from "./demo/answer.ts";
import { readConversation } from "./demo/conversation.ts";
import { deltasOf } from "./demo/deltas.ts";
import { type PacedPart, pacedStream } from "./demo/paced-stream.ts";
import { demoUsage } from "./demo/usage.ts";

const modelId = "assistant";
const textId = "text-1";
const stopped: LanguageModelV4FinishReason = { unified: "stop", raw: "stop" };
const calledTools: LanguageModelV4FinishReason = { unified: "tool-calls", raw: "tool-calls" };

/**
 * Creates `demo/assistant` (contract section 4). Its answers depend only on the prompt and the offered tools.
 */
export function createDemoModel(clock: Clock): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "demo",
    modelId,
    supportedUrls: {},
    async doGenerate(options) {
      options.abortSignal?.throwIfAborted();
      const answer = answerOf(options);
      const call = toolCallOf(answer, options, clock);
      const text = [...deltasOf(answer)].map((delta) => delta.text).join("");
      const content: LanguageModelV4Content[] = call === null ? [{ type: "text", text }] : [call];
      const usage = demoUsage(options.prompt, call === null ? text.length : call.input.length);
      return { content, finishReason: call === null ? stopped : calledTools, usage, warnings: [] };
    },
    async doStream(options) {
      options.abortSignal?.throwIfAborted();
      return { stream: pacedStream(partsOf(answerOf(options), options, clock), clock, options.abortSignal) };
    },
  };
}

function answerOf(options: LanguageModelV4CallOptions): DemoAnswer {
  const offered = options.toolChoice?.type === "none" ? [] : (options.tools ?? []);
  return answerTo(readConversation(options.prompt), new Set(offered.map((tool) => tool.name)));
}

function* partsOf(
  answer: DemoAnswer,
  options: LanguageModelV4CallOptions,
  clock: Clock,
): Generator<PacedPart, void> {
  yield { part: { type: "stream-start", warnings: [] }, waitMs: 0 };
  yield { part: { type: "response-metadata", modelId, timestamp: new Date(clock.now()) }, waitMs: 0 };
  const call = toolCallOf(answer, options, clock);
  let characters = 0;
  if (call === null) {
    yield { part: { type: "text-start", id: textId }, waitMs: 0 };
    for (const { text, waitMs } of deltasOf(answer)) {
      characters += text.length;
      yield { part: { type: "text-delta", id: textId, delta: text }, waitMs };
    }
    yield { part: { type: "text-end", id: textId }, waitMs: 0 };
  } else {
    characters = call.input.length;
    yield { part: { type: "tool-input-start", id: call.toolCallId, toolName: call.toolName }, waitMs: 0 };
    yield { part: { type: "tool-input-delta", id: call.toolCallId, delta: call.input }, waitMs: 0 };
    yield { part: { type: "tool-input-end", id: call.toolCallId }, waitMs: 0 };
    yield { part: call, waitMs: 0 };
  }
  const usage = demoUsage(options.prompt, characters);
  yield { part: { type: "finish", finishReason: call === null ? stopped : calledTools, usage }, waitMs: 0 };
}

function toolCallOf(
  answer: DemoAnswer,
  options: LanguageModelV4CallOptions,
  clock: Clock,
): LanguageModelV4ToolCall | null {
  if (answer.kind !== "tool-call") return null;
  return {
    type: "tool-call",
    toolCallId: toolCallId(options, clock),
    toolName: answer.tool,
    input: JSON.stringify(answer.input),
  };
}

/**
 * Returns an id that is unique within a session without randomness: the prompt grows with every answer, and
 * the time distinguishes two calls for the same prompt (the first of which was interrupted and is no longer
 * in the history).
 */
function toolCallId(options: LanguageModelV4CallOptions, clock: Clock): string {
  const digest = createHash("sha256").update(JSON.stringify(options.prompt)).digest("base64url");
  return `demo_${clock.now().toString(36)}_${digest.slice(0, 16)}`;
}
