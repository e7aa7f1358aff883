// A deterministic model that needs no key and no network. It implements the same interface as the providers'
// models, so streaming, tools, interrupts and recovery run through the real code.

import { createHash } from "node:crypto";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Source,
  LanguageModelV4ToolCall,
  LanguageModelV4Prompt,
  LanguageModelV4Usage,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { JsonObject } from "../core/json.ts";
import { demoJson } from "./demo-json.ts";
import { answerTo, type DemoAnswer, readConversation } from "./demo-answer.ts";

const modelId = "assistant";
const textId = "text-1";
/** Milliseconds between words of reasoning. */
const REASONING_WAIT_MS = 20;
const reasoningId = "reasoning-1";
const stopped: LanguageModelV4FinishReason = { unified: "stop", raw: "stop" };
const calledTools: LanguageModelV4FinishReason = { unified: "tool-calls", raw: "tool-calls" };

const defaultMaxSteps = 20;

/**
 * Creates `demo/assistant` (contract section 4). Its answers depend only on the prompt, the offered tools and
 * `maxSteps`, the model calls that a turn may make.
 */
export function createDemoModel(clock: Clock, maxSteps = defaultMaxSteps): LanguageModelV4 {
  const answerOf = (options: LanguageModelV4CallOptions): DemoAnswer => {
    const offered = options.toolChoice?.type === "none" ? [] : (options.tools ?? []);
    const conversation = readConversation(options.prompt);
    const forced = forcedCall(options, conversation.lastMessage ?? "");
    if (forced !== null) return forced;
    const answer = answerTo(conversation, new Set(offered.map((tool) => tool.name)), maxSteps);
    const { responseFormat: format } = options;
    if (answer.kind === "tool-call" || format?.type !== "json" || format.schema === undefined) return answer;
    const value = demoJson(format.schema as JsonObject, conversation.lastMessage ?? "");
    return { kind: "text", text: JSON.stringify(value) };
  };
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
      const { reasoning, source } = extrasOf(answer);
      const content: LanguageModelV4Content[] =
        reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning }];
      if (text !== "") content.push({ type: "text", text });
      if (source !== undefined) content.push(sourcePart(source));
      if (call !== null) content.push(call);
      const usage = demoUsage(options.prompt, text.length + (call?.input.length ?? 0));
      return { content, finishReason: call === null ? stopped : calledTools, usage, warnings: [] };
    },
    async doStream(options) {
      options.abortSignal?.throwIfAborted();
      return { stream: pacedStream(partsOf(answerOf(options), options, clock), clock, options.abortSignal) };
    },
  };
}

/** Returns a call with a made-up input if the request demands one: of the chosen tool, or of the first. */
function forcedCall({ toolChoice, tools = [] }: LanguageModelV4CallOptions, text: string): DemoAnswer | null {
  const name =
    toolChoice?.type === "tool"
      ? toolChoice.toolName
      : toolChoice?.type === "required"
        ? tools[0]?.name
        : undefined;
  const tool = tools.find((one) => one.name === name);
  if (tool?.type !== "function") return null;
  return {
    kind: "tool-call",
    tool: tool.name,
    input: demoJson(tool.inputSchema as JsonObject, text) as JsonObject,
  };
}

function* partsOf(
  answer: DemoAnswer,
  options: LanguageModelV4CallOptions,
  clock: Clock,
): Generator<PacedPart, void> {
  yield { part: { type: "stream-start", warnings: [] }, waitMs: 0 };
  yield { part: { type: "response-metadata", modelId, timestamp: new Date(clock.now()) }, waitMs: 0 };
  const call = toolCallOf(answer, options, clock);
  const { reasoning, source } = extrasOf(answer);
  let characters = 0;
  if (reasoning !== undefined) {
    characters += reasoning.length;
    yield { part: { type: "reasoning-start", id: reasoningId }, waitMs: 0 };
    for (const delta of reasoning.match(/\S+\s*/g) ?? [])
      yield { part: { type: "reasoning-delta", id: reasoningId, delta }, waitMs: REASONING_WAIT_MS };
    yield { part: { type: "reasoning-end", id: reasoningId }, waitMs: 0 };
  }
  if (answer.kind !== "tool-call") {
    yield { part: { type: "text-start", id: textId }, waitMs: 0 };
    for (const { text, waitMs } of deltasOf(answer)) {
      characters += text.length;
      yield { part: { type: "text-delta", id: textId, delta: text }, waitMs };
    }
    yield { part: { type: "text-end", id: textId }, waitMs: 0 };
  }
  if (source !== undefined) yield { part: sourcePart(source), waitMs: 0 };
  if (call !== null) {
    characters += call.input.length;
    yield { part: { type: "tool-input-start", id: call.toolCallId, toolName: call.toolName }, waitMs: 0 };
    yield { part: { type: "tool-input-delta", id: call.toolCallId, delta: call.input }, waitMs: 0 };
    yield { part: { type: "tool-input-end", id: call.toolCallId }, waitMs: 0 };
    yield { part: call, waitMs: 0 };
  }
  const usage = demoUsage(options.prompt, characters);
  yield { part: { type: "finish", finishReason: call === null ? stopped : calledTools, usage }, waitMs: 0 };
}

function extrasOf(answer: DemoAnswer): Partial<Extract<DemoAnswer, { kind: "text" }>> {
  return answer.kind === "text" ? answer : {};
}

function sourcePart({ url, title }: { readonly url: string; readonly title: string }): LanguageModelV4Source {
  return { type: "source", sourceType: "url", id: "source-1", url, title };
}

function toolCallOf(
  answer: DemoAnswer,
  options: LanguageModelV4CallOptions,
  clock: Clock,
): LanguageModelV4ToolCall | null {
  const call = answer.kind === "tool-call" ? answer : answer.kind === "count" ? answer.call : null;
  if (call === null) return null;
  return {
    type: "tool-call",
    toolCallId: toolCallId(options, clock),
    toolName: call.tool,
    input: JSON.stringify(call.input),
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

/** A piece of an answer's text. */
interface Delta {
  readonly text: string;
  /** Delay after the previous piece, in milliseconds. */
  readonly waitMs: number;
}

/** Milliseconds between two numbers: twenty numbers per second (contract section 4). */
const countIntervalMs = 50;
/**
 * Maximum deltas of a text. Text streams word by word, but a long quotation in not many more deltas than a
 * real model sends.
 */
const maximumTextDeltas = 64;

/** Yields the answer's text in deltas; nothing for a tool call. */
function* deltasOf(answer: DemoAnswer): Generator<Delta> {
  if (answer.kind === "count") {
    // Before a later step, the pause between two numbers.
    yield { text: String(answer.from), waitMs: answer.from === 1 ? 0 : countIntervalMs };
    for (let number = answer.from + 1; number <= answer.to; number += 1)
      yield { text: ` ${number}`, waitMs: countIntervalMs };
  }
  if (answer.kind === "text") {
    const words = answer.text.match(/\s*\S+\s*/g) ?? [];
    const size = Math.ceil(words.length / maximumTextDeltas);
    for (let index = 0; index < words.length; index += size) {
      yield { text: words.slice(index, index + size).join(""), waitMs: 0 };
    }
  }
}

/** Estimates usage: one token for every four UTF-16 units, rounded up, which is typical for English. */
function demoUsage(prompt: LanguageModelV4Prompt, outputCharacters: number): LanguageModelV4Usage {
  let inputCharacters = 0;
  for (const message of prompt) {
    if (message.role === "system") inputCharacters += message.content.length;
    else for (const part of message.content) inputCharacters += charactersOf(part);
  }
  const input = Math.ceil(inputCharacters / 4);
  const output = Math.ceil(outputCharacters / 4);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: output, reasoning: undefined },
  };
}

type PromptPart = Exclude<LanguageModelV4Prompt[number], { role: "system" }>["content"][number];

function charactersOf(part: PromptPart): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.length;
    case "tool-call":
      return JSON.stringify(part.input ?? null).length;
    case "tool-result":
      return JSON.stringify(part.output).length;
    default:
      return 0;
  }
}

interface PacedPart {
  readonly part: LanguageModelV4StreamPart;
  /** Delay after the previous part, in milliseconds. */
  readonly waitMs: number;
}

/**
 * Streams parts with their delays, with backpressure. Aborting `signal` errors the stream at once with the
 * signal's reason, as a provider's connection would. Neither an abort nor a cancelled read leaves a timer or
 * a listener.
 */
function pacedStream(
  parts: Iterator<PacedPart, void>,
  clock: Clock,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const stop = new AbortController();
  let onAbort: (() => void) | undefined;
  const removeListener = (): void => {
    if (onAbort !== undefined) signal?.removeEventListener("abort", onAbort);
  };
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      onAbort = (): void => {
        stop.abort();
        controller.error(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
    },
    async pull(controller) {
      const next = parts.next();
      if (next.done === true) {
        removeListener();
        controller.close();
        return;
      }
      // `sleep` rejects only once the stream is errored or cancelled, so the rejection has no effect.
      if (next.value.waitMs > 0) await clock.sleep(next.value.waitMs, stop.signal);
      controller.enqueue(next.value.part);
    },
    cancel() {
      removeListener();
      stop.abort();
    },
  });
}
