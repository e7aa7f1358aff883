// The AI SDK alone, over the same model: the cost of a turn without storing or sending anything.

import { streamText } from "ai";
import { createBenchModel } from "../models.ts";
import { serveRole } from "../role.ts";

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

const handlers = () => ({ run });

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
