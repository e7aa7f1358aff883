// Models that cost nothing, so that what is around them is measured. What they do is in the last message of the user.

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

/** Deltas of an instant answer. */
const DELTAS = ["Ten ", "small ", "pieces ", "of ", "text ", "make ", "up ", "this ", "whole ", "answer."];
/** Pieces a second of an answer to a message that begins with "stream". */
const STREAMED_PER_SECOND = 20;

const USAGE: LanguageModelV4Usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 10, text: 10, reasoning: undefined },
};

export interface BenchModel {
  readonly model: LanguageModelV4;
  /** Lets all go that wait, now and from now on. */
  open(): void;
}

/**
 * A model of ten deltas at once. A message that begins with "park" waits until the gate opens; one that begins with "stream" is
 * answered with twenty pieces a second, without end, until it is aborted.
 */
export function createBenchModel(): BenchModel {
  const gate = Promise.withResolvers<void>();
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "instant",
    supportedUrls: {},
    doGenerate: async () => ({
      content: [{ type: "text", text: DELTAS.join("") }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: USAGE,
      warnings: [],
    }),
    doStream: async (options) => {
      const message = lastUserText(options);
      if (message.startsWith("park")) await waitForGate(gate.promise, options.abortSignal);
      if (message.startsWith("stream")) return { stream: endlessStream(options.abortSignal) };
      return { stream: instantStream() };
    },
  };
  return { model, open: () => gate.resolve() };
}

function instantStream(): ReadableStream<LanguageModelV4StreamPart> {
  const parts: LanguageModelV4StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    ...DELTAS.map((delta) => ({ type: "text-delta", id: "1", delta }) as const),
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE },
  ];
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

function endlessStream(signal: AbortSignal | undefined): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue({ type: "stream-start", warnings: [] });
      controller.enqueue({ type: "text-start", id: "1" });
      const timer = setInterval(() => {
        controller.enqueue({ type: "text-delta", id: "1", delta: "another piece " });
      }, 1000 / STREAMED_PER_SECOND);
      signal?.addEventListener("abort", () => {
        clearInterval(timer);
        controller.error(signal.reason);
      });
    },
  });
}

function waitForGate(gate: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    void gate.then(resolve);
  });
}

function lastUserText({ prompt }: LanguageModelV4CallOptions): string {
  const last = prompt.findLast(({ role }) => role === "user");
  return last?.role === "user"
    ? last.content.map((part) => (part.type === "text" ? part.text : "")).join("")
    : "";
}
