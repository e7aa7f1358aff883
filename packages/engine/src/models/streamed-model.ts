// Wraps the language model of a provider package. Reads its stream with `AnswerReader`, reports failures after the text
// that preceded them, and converts thinking tags to reasoning parts.

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import { type ThinkingTags, ThinkingSplitter } from "../core/thinking-tags.ts";
import { AnswerReader, type AnswerReaderOptions, WholeAnswerReceived } from "./answer-reader.ts";

/** Creates a model of the provider package that uses `fetch`. */
export type CreateModel = (modelId: string, fetch: typeof globalThis.fetch) => LanguageModelV4;

export interface StreamedModelOptions extends AnswerReaderOptions {
  readonly create: CreateModel;
  readonly modelId: string;
  readonly thinkingTags: ThinkingTags;
}

export function createStreamedModel(options: StreamedModelOptions): LanguageModelV4 {
  const { create, modelId, thinkingTags } = options;
  const described = create(modelId, options.fetch);
  return {
    specificationVersion: "v4",
    provider: described.provider,
    modelId: described.modelId,
    supportedUrls: described.supportedUrls,
    doGenerate: (call) => described.doGenerate(call),
    doStream: async (call) => {
      const reader = new AnswerReader(options);
      try {
        const result = await create(modelId, reader.fetch).doStream(call);
        return { ...result, stream: result.stream.pipeThrough(readParts(reader, thinkingTags)) };
      } catch (error) {
        if (error instanceof WholeAnswerReceived) return await streamWhole(create, modelId, call, error.text);
        throw reader.failure ?? error;
      }
    },
  };
}

/** Lets the package parse a non-streaming response, and returns it as a stream. */
async function streamWhole(
  create: CreateModel,
  modelId: string,
  call: LanguageModelV4CallOptions,
  text: string,
): Promise<LanguageModelV4StreamResult> {
  const { simulateStreamingMiddleware, wrapLanguageModel } = await import("ai");
  const headers = { "content-type": "application/json" };
  const model = create(modelId, () => Promise.resolve(new Response(text, { headers })));
  return await wrapLanguageModel({ model, middleware: simulateStreamingMiddleware() }).doStream(call);
}

/** Emits the reader's failure after all parts that preceded it. */
function readParts(
  reader: AnswerReader,
  tags: ThinkingTags,
): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> {
  const parts = new TaggedParts(tags);
  let hasFailed = false;
  return new TransformStream({
    transform(part, controller) {
      if (hasFailed) return;
      for (const one of parts.read(part)) {
        const { failure } = reader;
        if (failure === null || (one.type !== "error" && one.type !== "finish")) controller.enqueue(one);
        else {
          hasFailed = true;
          failure.answered = parts.answered;
          controller.enqueue({ type: "error", error: failure });
        }
      }
    },
  });
}

/** Maximum characters of an answer kept for comparison with error messages that quote it. */
const MAX_ANSWERED = 100_000;

/** Converts thinking tags in text parts to reasoning parts. Starts a new part whenever the type changes. */
class TaggedParts {
  /** Text and reasoning received so far. */
  answered = "";
  readonly #splitter: ThinkingSplitter | null;
  #open: { readonly type: "text" | "reasoning"; readonly id: string } | null = null;
  #count = 0;

  constructor(tags: ThinkingTags) {
    this.#splitter = tags === "off" ? null : new ThinkingSplitter(tags);
  }

  read(part: LanguageModelV4StreamPart): LanguageModelV4StreamPart[] {
    if (part.type === "text-delta" || part.type === "reasoning-delta") {
      if (this.answered.length < MAX_ANSWERED) this.answered += part.delta;
    }
    if (this.#splitter === null) return [part];
    switch (part.type) {
      case "text-start":
      case "text-end":
        return [];
      case "text-delta":
        return this.#splitter.push(part.delta).flatMap(({ type, text }) => this.#add(type, text));
      case "stream-start":
      case "response-metadata":
      case "raw":
        return [part];
      case "reasoning-start":
        this.#splitter.skipOpened();
        return [...this.#close(), part];
      case "finish":
      case "error":
        return [
          ...this.#splitter.end().flatMap(({ type, text }) => this.#add(type, text)),
          ...this.#close(),
          part,
        ];
      default:
        return [...this.#close(), part];
    }
  }

  #add(type: "text" | "reasoning", delta: string): LanguageModelV4StreamPart[] {
    if (this.#open?.type === type) return [{ type: `${type}-delta`, id: this.#open.id, delta }];
    const before = this.#close();
    this.#count += 1;
    const id = `tagged-${this.#count}`;
    this.#open = { type, id };
    return [...before, { type: `${type}-start`, id }, { type: `${type}-delta`, id, delta }];
  }

  #close(): LanguageModelV4StreamPart[] {
    if (this.#open === null) return [];
    const { type, id } = this.#open;
    this.#open = null;
    return [{ type: `${type}-end`, id }];
  }
}
