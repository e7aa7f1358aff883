// The AI SDK alone, over the same model: the cost of a turn, and of streaming text, without storing or
// sending anything.

import { setTimeout as sleep } from "node:timers/promises";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { experimental_streamLanguageModelCall, streamText } from "ai";
import { createBenchModel } from "../models.ts";
import { heapAfterGc, serveRole } from "../role.ts";

export interface SdkInput {
  /** Number of concurrent calls. */
  readonly inFlight: number;
  readonly warmUpMs: number;
  readonly measuredMs: number;
}

export interface SdkResult {
  readonly perSecond: number;
  /** Milliseconds per call. */
  readonly latencies: readonly number[];
}

/** Reads endless text: the model's own stream, the SDK's call that the service makes, or `streamText`. */
const READERS = {
  "the model alone": async (model: LanguageModelV4, signal: AbortSignal) => {
    const { stream } = await model.doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: "stream" }] }],
      abortSignal: signal,
    });
    await drain(stream);
  },
  "the SDK's call": async (model: LanguageModelV4, signal: AbortSignal) => {
    const { stream } = await experimental_streamLanguageModelCall({
      model,
      messages: [{ role: "user", content: "stream" }],
      tools: {},
      abortSignal: signal,
    });
    await drain(stream);
  },
  streamText: async (model: LanguageModelV4, signal: AbortSignal) => {
    const result = streamText({ model, prompt: "stream", maxRetries: 0, abortSignal: signal });
    await drain(result.textStream);
  },
} as const;

export type SdkReader = keyof typeof READERS;

const handlers = () => ({ run, streamFor, heapOf });

export type SdkHandlers = ReturnType<typeof handlers>;

export function startSdkControl(): void {
  serveRole(handlers(), () => {});
}

async function run({ inFlight, warmUpMs, measuredMs }: SdkInput): Promise<SdkResult> {
  const { model } = createBenchModel();
  const from = performance.now() + warmUpMs;
  const to = from + measuredMs;
  const latencies: number[] = [];
  const loop = async () => {
    for (let begun = performance.now(); begun < to; begun = performance.now()) {
      const result = streamText({ model, prompt: "Say ten small pieces of text", maxRetries: 0 });
      let text = "";
      for await (const delta of result.textStream) text += delta;
      if (text === "") throw new Error("The model said nothing");
      const now = performance.now();
      if (begun >= from && now < to) latencies.push(now - begun);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return { perSecond: latencies.length / (measuredMs / 1000), latencies };
}

/** Returns the memory in bytes of `streams` concurrent `streamText` calls after `measuredMs`. */
async function heapOf(input: { readonly streams: number; readonly measuredMs: number }): Promise<number> {
  const { model } = createBenchModel();
  const stop = new AbortController();
  const start = (count: number) =>
    Array.from({ length: count }, () => READERS.streamText(model, stop.signal).catch(() => undefined));
  const reads = start(50);
  const before = await heapAfterGc();
  reads.push(...start(input.streams));
  await sleep(input.measuredMs);
  const bytes = (await heapAfterGc()) - before;
  stop.abort();
  await Promise.all(reads);
  return bytes;
}

/** Returns the milliseconds of processor that `streams` concurrent answers cost in `measuredMs`. */
async function streamFor(input: {
  readonly reader: SdkReader;
  readonly streams: number;
  readonly warmUpMs: number;
  readonly measuredMs: number;
}): Promise<number> {
  const { model } = createBenchModel();
  const stop = new AbortController();
  const reads = Array.from({ length: input.streams }, () =>
    READERS[input.reader](model, stop.signal).catch(() => undefined),
  );
  await sleep(input.warmUpMs);
  const before = process.cpuUsage();
  await sleep(input.measuredMs);
  const { user, system } = process.cpuUsage(before);
  stop.abort();
  await Promise.all(reads);
  return (user + system) / 1000;
}

async function drain(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _value of values);
}
