// One model call: streams text while it arrives, and returns the outcome as a value, including failures. This
// is the only file that uses the SDK to call a model (docs/adr/0004 explains why not `streamText`).

import type * as Sdk from "ai";
import { NoContentGeneratedError, type LanguageModelV4 } from "@ai-sdk/provider";
import type { Source } from "@colloquy/protocol";
import { cleanText, type JsonObject, type JsonValue } from "../core/json.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { ModelCatalog, ToolRules } from "../core/ports/driven/model.ts";
import type { ToolDefinition } from "../core/ports/driven/tool.ts";
import type { Sampling } from "../core/turn-options.ts";
import { type TokenUsage, NO_USAGE } from "../core/turn.ts";
import { untilAborted } from "../core/waiting.ts";
import { type OfferedChoice, type OfferedTool, type OfferedTools, offerTools } from "./offered-tools.ts";
import { argumentsOf } from "./tool-schemas.ts";
import { StepContent, type RequestedCall } from "./step-content.ts";

/** The SDK's finish reasons for an incomplete answer. */
const BROKEN_OFF: ReadonlySet<string> = new Set(["error", "interrupted"]);

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;
/** Maximum `Retry-After` that is honored, because a person waits for the answer. */
const MAX_RETRY_AFTER_MS = 60_000;

export interface ModelCall {
  readonly model: LanguageModelV4;
  readonly instructions: string;
  readonly messages: readonly Sdk.ModelMessage[];
  /** The tools as the provider accepts them; turns with the same tools share one array. */
  readonly tools: readonly OfferedTool[];
  /** JSON Schema for the text of a step without calls; absent for any text. */
  readonly responseSchema?: JsonObject | undefined;
  readonly sampling?: Sampling | undefined;
  readonly toolChoice?: OfferedChoice;
  /** Call ids of the conversation so far. */
  readonly usedCallIds: readonly string[];
  /** Bytes of the answer's stored arguments so far. */
  readonly argumentBytes: number;
  readonly signal: AbortSignal;
  /** Called with each piece of clean text. */
  readonly onText: (text: string) => void;
  /** Called with each piece of the reasoning, which together are the step's visible reasoning (`reasoningIn`). */
  readonly onReasoning?: (text: string) => void;
  /** Called on any activity of the model. */
  readonly onProgress: () => void;
}

export type ModelStep =
  | {
      readonly kind: "finished";
      readonly text: string;
      readonly parts: JsonObject[];
      readonly calls: readonly RequestedCall[];
      readonly sources: readonly Source[];
      readonly usage: TokenUsage;
      readonly finishReason: string;
    }
  /** `hasStreamed` is true if text of this step was streamed, so that the call must not be retried. */
  | { readonly kind: "failed"; readonly error: unknown; readonly hasStreamed: boolean }
  | { readonly kind: "aborted" };

type Part = Awaited<ReturnType<ModelCaller["open"]>> extends ReadableStream<infer P> ? P : never;

/** Calls models. Caches each App's tools in the SDK's form, whose creation costs more than the rest of a call. */
export class ModelCaller {
  readonly #toolSets = new WeakMap<readonly OfferedTool[], Sdk.ToolSet>();
  readonly #offered = new WeakMap<readonly ToolDefinition[], Map<string, OfferedTools>>();

  /** Returns tools as a provider accepts them: the same object for the same array and rules. */
  offer(tools: readonly ToolDefinition[], rules: ToolRules): OfferedTools {
    const known = this.#offered.get(tools) ?? new Map<string, OfferedTools>();
    this.#offered.set(tools, known);
    const key = `${rules.schemas} ${rules.maxTools}`;
    const offered = known.get(key) ?? offerTools(tools, rules);
    known.set(key, offered);
    return offered;
  }

  /** Calls the model once. Never rejects. Returns at once after an abort, even if the model ignores it. */
  async call(call: ModelCall): Promise<ModelStep> {
    if (call.signal.aborted) return { kind: "aborted" };
    const content = new StepContent(call.usedCallIds, call.argumentBytes);
    const progress = { hasStreamed: false };
    try {
      const opening = this.open(call);
      const stream = await untilAborted(opening, call.signal).catch((error: unknown) => {
        // The model may open its stream after the abort.
        opening.then((late) => late.cancel(error)).catch(() => undefined);
        throw error;
      });
      const reader = stream.getReader();
      const cancel = (): void => void reader.cancel(call.signal.reason).catch(() => undefined);
      call.signal.addEventListener("abort", cancel, { once: true });
      // The signal may have aborted before the listener was added.
      if (call.signal.aborted) cancel();
      try {
        return await readStep(call, reader, content, progress);
      } finally {
        call.signal.removeEventListener("abort", cancel);
        cancel();
      }
    } catch (error) {
      return call.signal.aborted
        ? { kind: "aborted" }
        : { kind: "failed", error, hasStreamed: progress.hasStreamed };
    }
  }

  /** Opens the SDK's stream of one call. Imports the SDK on first use. */
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
      ...call.sampling,
      tools: toolSet,
      ...(call.toolChoice !== undefined && { toolChoice: call.toolChoice }),
      ...(call.responseSchema !== undefined && {
        output: sdk.Output.object({ schema: sdk.jsonSchema(call.responseSchema) }),
      }),
      abortSignal: call.signal,
    });
    return stream;
  }
}

/** Converts tools without `execute`: the agent loop runs them itself, to make intents and results durable. */
function toToolSet(
  { tool, jsonSchema }: Pick<typeof Sdk, "tool" | "jsonSchema">,
  tools: readonly OfferedTool[],
): Sdk.ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema, strict }) => [
      name,
      tool({ description, inputSchema: jsonSchema(inputSchema), ...(strict === false && { strict }) }),
    ]),
  );
}

async function readStep(
  call: ModelCall,
  reader: ReadableStreamDefaultReader<Part>,
  content: StepContent,
  progress: { hasStreamed: boolean },
): Promise<ModelStep> {
  const streamed = new StreamedText();
  const reasoning = new StreamedReasoning();
  const emit = (text: string): void => {
    if (text === "" || call.signal.aborted) return;
    progress.hasStreamed = true;
    call.onText(text);
  };
  for (;;) {
    const { done, value: part } = await reader.read();
    if (call.signal.aborted) return { kind: "aborted" };
    if (done) throw new NoContentGeneratedError({ message: "The answer broke off before its end" });
    call.onProgress();
    if (part.type === "error") throw part.error;
    if (part.type === "model-call-end") {
      emit(streamed.end());
      if (BROKEN_OFF.has(part.finishReason))
        throw new NoContentGeneratedError({ message: `The answer ended: ${part.finishReason}` });
      return finishedStep(content, part.finishReason, toUsage(part.usage));
    }
    if (part.type === "text-delta") emit(streamed.push(part.text));
    if (part.type === "reasoning-delta") {
      const text = reasoning.push(part.id, part.text);
      if (text !== "") call.onReasoning?.(text);
    }
    collect(content, part);
    if (content.isOverLimit) {
      emit(streamed.end());
      content.cutOff();
      return finishedStep(content, "length", NO_USAGE);
    }
  }
}

function finishedStep(content: StepContent, finishReason: string, usage: TokenUsage): ModelStep {
  const { calls, sources } = content;
  return {
    kind: "finished",
    text: content.text(),
    parts: content.toParts(),
    calls,
    sources,
    usage,
    finishReason,
  };
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
      const input = argumentsOf((part.input ?? null) as JsonValue);
      return content.addCall({ id: part.toolCallId, name: part.toolName, input }, part.providerMetadata);
    }
    case "source":
      return part.sourceType === "url" ? content.addSource(part) : undefined;
    default:
      return undefined;
  }
}

function toUsage(usage: Sdk.LanguageModelUsage): TokenUsage {
  const inputTokens = usage.inputTokens ?? 0;
  const outputTokens = usage.outputTokens ?? 0;
  return {
    inputTokens,
    outputTokens,
    totalTokens: usage.totalTokens ?? inputTokens + outputTokens,
    reasoningTokens: usage.outputTokenDetails.reasoningTokens ?? 0,
    cachedInputTokens: usage.inputTokenDetails.cacheReadTokens ?? 0,
  };
}

/**
 * Cleans streamed text: joins a surrogate pair that was split between pieces, and replaces lone surrogates.
 */
export class StreamedText {
  #held = "";

  /** Returns the clean text so far; holds back a trailing high surrogate until the next piece, ignoring NULs between. */
  push(piece: string): string {
    const text = this.#held + piece.replaceAll("\0", "");
    const last = text.charCodeAt(text.length - 1);
    const cut = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    return cleanText(text.slice(0, cut));
  }

  /** Returns the text held back at the end of the stream. */
  end(): string {
    const rest = cleanText(this.#held);
    this.#held = "";
    return rest;
  }
}

/** Joins streamed parts of reasoning as `reasoningIn` joins stored ones: trimmed, with a blank line between them. */
export class StreamedReasoning {
  #clean = new StreamedText();
  #part: string | null = null;
  /** Space that is kept only if the part goes on. */
  #space = "";
  #hasText = false;
  #hasTextInPart = false;

  /** Returns the reasoning that a piece adds. `part` is the provider's id of the part. */
  push(part: string, piece: string): string {
    if (part !== this.#part) {
      this.#clean = new StreamedText();
      this.#part = part;
      this.#space = "";
      this.#hasTextInPart = false;
    }
    const clean = this.#clean.push(piece);
    const all = this.#hasTextInPart ? this.#space + clean : clean.trimStart();
    const text = all.trimEnd();
    this.#space = all.slice(text.length);
    if (text === "") return "";
    const gap = this.#hasText && !this.#hasTextInPart ? "\n\n" : "";
    this.#hasText = this.#hasTextInPart = true;
    return gap + text;
  }
}

/**
 * Retries a model call after retryable failures, as long as the step has streamed no text. Waits as long as
 * `Retry-After` says, otherwise for a delay that doubles from one second. Returns the last outcome. Does not
 * wait beyond the turn's time limit, because the provider's error helps the user more than a timeout.
 */
export async function retryModel(
  call: () => Promise<ModelStep>,
  options: {
    readonly models: Pick<ModelCatalog, "describeFailure">;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    /** Maximum number of retries. */
    readonly maxRetries: number;
    /** Returns the milliseconds that the turn may still wait. */
    readonly left: () => number;
  },
): Promise<ModelStep> {
  for (let attempt = 0; ; attempt += 1) {
    const step = await call();
    if (step.kind !== "failed" || step.hasStreamed || attempt >= options.maxRetries) return step;
    const { retryable, retryAfterMs } = options.models.describeFailure(step.error);
    if (!retryable || (retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS) return step;
    const delay = retryAfterMs ?? Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS);
    if (delay >= options.left()) return step;
    try {
      await options.clock.sleep(delay, options.signal);
    } catch {
      return { kind: "aborted" };
    }
  }
}
