import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { ModelFailure } from "../core/ports/driven/model.ts";
import { NO_USAGE } from "../core/turn.ts";
import { retryModel, type ModelStep } from "./model-step.ts";

const FINISHED: ModelStep = {
  kind: "finished",
  text: "ok",
  parts: [],
  calls: [],
  usage: NO_USAGE,
  sources: [],
  finishReason: "stop",
};

function failed(failure: Partial<ModelFailure> = {}, hasStreamed = false): ModelStep {
  return { kind: "failed", error: { code: "x", message: "x", retryable: true, ...failure }, hasStreamed };
}

interface Trial {
  readonly clock: ManualClock;
  readonly controller: AbortController;
  readonly outcome: Promise<ModelStep>;
  /** Monotonic times of the model calls in milliseconds. */
  readonly calls: number[];
}

function tryModel(steps: readonly ModelStep[], options: { maxRetries?: number; left?: number } = {}): Trial {
  const clock = new ManualClock();
  const controller = new AbortController();
  const calls: number[] = [];
  const outcome = retryModel(
    async () => {
      calls.push(clock.monotonic());
      return steps[calls.length - 1] ?? FINISHED;
    },
    {
      models: { describeFailure: (error) => error as ModelFailure },
      clock,
      signal: controller.signal,
      maxRetries: options.maxRetries ?? 3,
      left: () => (options.left ?? 600_000) - clock.monotonic(),
    },
  );
  return { clock, controller, outcome, calls };
}

describe("failed model call", () => {
  it("is retried after a delay that doubles from one second to thirty", async () => {
    const trial = tryModel(
      Array.from({ length: 7 }, () => failed()),
      { maxRetries: 10 },
    );
    await trial.clock.advance(300_000);
    expect(await trial.outcome).toBe(FINISHED);
    const delays = trial.calls.slice(1).map((at, index) => at - (trial.calls[index] ?? 0));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it("is retried after exactly the time that its provider requests", async () => {
    const trial = tryModel([failed({ retryAfterMs: 7_500 }), failed({ retryAfterMs: 0 }), failed()]);
    await trial.clock.advance(60_000);
    expect(await trial.outcome).toBe(FINISHED);
    expect(trial.calls).toEqual([0, 7_500, 7_500, 11_500]);
  });

  it("is retried after up to a minute, but not if the provider requests a longer wait", async () => {
    const waits = tryModel([failed({ retryAfterMs: 60_000 })]);
    await waits.clock.advance(60_000);
    expect(await waits.outcome).toBe(FINISHED);
    const last = failed({ retryAfterMs: 60_001 });
    const gives = tryModel([last]);
    expect(await gives.outcome).toBe(last);
    expect(gives.calls).toHaveLength(1);
  });

  it("is not retried if the wait would outlast the turn, and returns the provider's error", async () => {
    const last = failed({ retryAfterMs: 30_000 });
    const trial = tryModel([failed({ retryAfterMs: 30_000 }), last], { left: 60_000 });
    await trial.clock.advance(30_000);
    expect(await trial.outcome).toBe(last);
    expect(trial.calls).toEqual([0, 30_000]);
  });

  it("is retried up to the limit, then returns the last failure", async () => {
    const last = failed();
    const trial = tryModel([failed(), failed(), last], { maxRetries: 2 });
    await trial.clock.advance(60_000);
    expect(await trial.outcome).toBe(last);
    expect(trial.calls).toHaveLength(3);
  });

  it("is not retried after a permanent failure", async () => {
    const last = failed({ retryable: false });
    const trial = tryModel([last]);
    expect(await trial.outcome).toBe(last);
    expect(trial.calls).toHaveLength(1);
  });

  it("is not retried after streaming text", async () => {
    const last = failed({}, true);
    const trial = tryModel([failed(), last]);
    await trial.clock.advance(60_000);
    expect(await trial.outcome).toBe(last);
    expect(trial.calls).toHaveLength(2);
  });

  it("is not retried when the turn stops during the wait: it returns at once and leaves no timer", async () => {
    const trial = tryModel([failed({ retryAfterMs: 60_000 })]);
    await trial.clock.advance(1_000);
    trial.controller.abort();
    expect(await trial.outcome).toEqual({ kind: "aborted" });
    expect(trial.clock.timers).toBe(0);
    await trial.clock.advance(120_000);
    expect(trial.calls).toHaveLength(1);
  });

  it("is not retried after an abort", async () => {
    const trial = tryModel([{ kind: "aborted" }]);
    expect(await trial.outcome).toEqual({ kind: "aborted" });
    expect(trial.calls).toHaveLength(1);
  });
});
