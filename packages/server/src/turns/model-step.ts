// One call of a model: what it says streams out while it says it, and what it came to is a value, failures too. This is the only file that
// knows the SDK's way of calling a model (docs/adr tells why it is this way and not `streamText`).

import { NoContentGeneratedError, type LanguageModelV4 } from "@ai-sdk/provider";
import type * as Sdk from "ai";
import type { ModelMessage, ToolSet } from "ai";
import type { ToolDefinition } from "../core/ports/tool.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { TokenUsage } from "../core/turn.ts";
import { NO_USAGE } from "../core/turn.ts";
import { StepContent, type RequestedCall } from "./step-content.ts";
import { StreamedText } from "./streamed-text.ts";

/** How the SDK says that a provider ended an answer before the model did. */
const BROKEN_OFF: ReadonlySet<string> = new Set(["error", "interrupted"]);

export interface ModelCall {
  readonly model: LanguageModelV4;
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  /** The turn's tools; the same array for turns that have the same. */
  readonly tools: readonly ToolDefinition[];
  /** Ids of the calls of the conversation so far. */
  readonly usedCallIds: readonly string[];
  /** Bytes of JSON that the calls of the answer so far have brought. */
  readonly argumentBytes: number;
  readonly signal: AbortSignal;
  /** Hears each piece of clean text. */
  readonly onText: (text: string) => void;
  /** Hears that the model does something, text or not. */
  readonly onProgress: () => void;
}

export type ModelStep =
  | {
      readonly kind: "finished";
      readonly text: string;
      readonly parts: JsonObject[];
      readonly calls: readonly RequestedCall[];
      readonly usage: TokenUsage;
      readonly finishReason: string;
    }
  /** `spoke`: whether text of this step has gone out, so that it cannot be called again. */
  | { readonly kind: "failed"; readonly error: unknown; readonly spoke: boolean }
  | { readonly kind: "aborted" };

type Part = Awaited<ReturnType<ModelCaller["open"]>> extends ReadableStream<infer P> ? P : never;

/** Calls models; keeps the tools of each App in the SDK's form, since making it costs more than the rest of a call. */
export class ModelCaller {
  readonly #toolSets = new WeakMap<readonly ToolDefinition[], ToolSet>();

  /** Calls the model once. Never rejects. After an abort it answers at once, even when the model does not listen. */
  async call(call: ModelCall): Promise<ModelStep> {
    if (call.signal.aborted) return { kind: "aborted" };
    const content = new StepContent(call.usedCallIds, call.argumentBytes);
    const progress = { spoke: false };
    try {
      const stream = await untilAborted(this.open(call), call.signal);
      const reader = stream.getReader();
      const cancel = (): void => void reader.cancel(call.signal.reason).catch(() => undefined);
      call.signal.addEventListener("abort", cancel, { once: true });
      // The signal may have been aborted between the opening of the stream and this line.
      if (call.signal.aborted) cancel();
      try {
        return await readStep(call, reader, content, progress);
      } finally {
        call.signal.removeEventListener("abort", cancel);
        cancel();
      }
    } catch (error) {
      return call.signal.aborted ? { kind: "aborted" } : { kind: "failed", error, spoke: progress.spoke };
    }
  }

  /** The SDK's stream of one call; the SDK is imported when the first model is called. */
  async open(call: ModelCall) {
    const sdk = await import("ai");
    let toolSet = this.#toolSets.get(call.tools);
    if (toolSet === undefined) {
      toolSet = toToolSet(sdk, call.tools);
      this.#toolSets.set(call.tools, toolSet);
    }
    const { stream } = await sdk.experimental_streamLanguageModelCall({
      model: call.model,
      ...(call.instructions !== "" && { instructions: call.instructions }),
      messages: [...call.messages],
      tools: toolSet,
      abortSignal: call.signal,
    });
    return stream;
  }
}

/** Without `execute`: the loop runs the tools itself, because their intent and result have to be on disk. */
function toToolSet(
  { tool, jsonSchema }: Pick<typeof Sdk, "tool" | "jsonSchema">,
  tools: readonly ToolDefinition[],
): ToolSet {
  const set: ToolSet = {};
  for (const { name, description, inputSchema } of tools) {
    set[name] = tool({ description, inputSchema: jsonSchema(inputSchema) });
  }
  return set;
}

async function readStep(
  call: ModelCall,
  reader: ReadableStreamDefaultReader<Part>,
  content: StepContent,
  progress: { spoke: boolean },
): Promise<ModelStep> {
  const streamed = new StreamedText();
  const say = (text: string): void => {
    if (text === "" || call.signal.aborted) return;
    progress.spoke = true;
    call.onText(text);
  };
  for (;;) {
    const { done, value: part } = await reader.read();
    if (call.signal.aborted) return { kind: "aborted" };
    if (done) throw new NoContentGeneratedError({ message: "The answer broke off before its end" });
    call.onProgress();
    if (part.type === "error") throw part.error;
    if (part.type === "model-call-end") {
      say(streamed.end());
      if (BROKEN_OFF.has(part.finishReason))
        throw new NoContentGeneratedError({ message: `The answer ended: ${part.finishReason}` });
      return finishedStep(content, part.finishReason, toUsage(part.usage));
    }
    if (part.type === "text-delta") say(streamed.push(part.text));
    collect(content, part);
    if (content.isFlooded) {
      say(streamed.end());
      content.cutOff();
      return finishedStep(content, "length", NO_USAGE);
    }
  }
}

function finishedStep(content: StepContent, finishReason: string, usage: TokenUsage): ModelStep {
  const { calls } = content;
  return { kind: "finished", text: content.text(), parts: content.toParts(), calls, usage, finishReason };
}

function collect(content: StepContent, part: Part): void {
  switch (part.type) {
    case "text-start":
      return void content.begin("text", part.id, part.providerMetadata);
    case "reasoning-start":
      return void content.begin("reasoning", part.id, part.providerMetadata);
    case "text-delta":
    case "text-end":
      return content.grow("text", part.id, "text" in part ? part.text : "", part.providerMetadata);
    case "reasoning-delta":
    case "reasoning-end":
      return content.grow("reasoning", part.id, "text" in part ? part.text : "", part.providerMetadata);
    case "tool-input-start":
      return content.beginCall(part.id, part.toolName);
    case "tool-input-delta":
      return content.growCall(part.id, part.delta);
    case "tool-call": {
      const call = { id: part.toolCallId, name: part.toolName, input: (part.input ?? null) as JsonValue };
      return content.addCall(call, part.providerMetadata);
    }
    default:
      return undefined;
  }
}

/** A model that hangs before its stream begins must not hold up an abort; a stream that it opens afterwards is thrown away. */
async function untilAborted<T extends ReadableStream>(opening: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted.reject(signal.reason);
    opening.then((late) => late.cancel(signal.reason)).catch(() => undefined);
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([opening, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

interface SdkUsage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly totalTokens: number | undefined;
  readonly inputTokenDetails?: { readonly cacheReadTokens?: number | undefined };
  readonly outputTokenDetails?: { readonly reasoningTokens?: number | undefined };
}

function toUsage(usage: SdkUsage | undefined): TokenUsage {
  if (usage === undefined) return NO_USAGE;
  const inputTokens = usage.inputTokens ?? 0;
  const outputTokens = usage.outputTokens ?? 0;
  return {
    inputTokens,
    outputTokens,
    totalTokens: usage.totalTokens ?? inputTokens + outputTokens,
    reasoningTokens: usage.outputTokenDetails?.reasoningTokens ?? 0,
    cachedInputTokens: usage.inputTokenDetails?.cacheReadTokens ?? 0,
  };
}
