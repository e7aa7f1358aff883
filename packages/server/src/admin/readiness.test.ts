import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import { createReadiness } from "./readiness.ts";

/** Creates a readiness whose store counts its probes. */
function givenReadiness(isAlone = true) {
  const clock = new ManualClock();
  const state = { probes: 0, fails: false, gate: Promise.resolve() };
  const probe = async (): Promise<void> => {
    state.probes += 1;
    await state.gate;
    if (state.fails) throw new Unavailable(507, "insufficient_storage", "Full.", 30);
  };
  const logged: string[] = [];
  const logger = {
    error: (fields: object, text: string) => logged.push(`error: ${text} (${describeError(fields)})`),
    info: (_fields: object, text: string) => logged.push(`info: ${text}`),
  };
  const readiness = createReadiness({ store: { probe }, isAlone, clock, logger });
  return { clock, state, logged, readiness };
}

const describeError = (fields: object): string =>
  "err" in fields && fields.err instanceof Error ? fields.err.message : "no error";

describe("readiness", () => {
  it("logs the cause once when the store stops taking writes, and its recovery", async () => {
    const { clock, state, logged, readiness } = givenReadiness();
    for (const fails of [false, true, true, false, false]) {
      state.fails = fails;
      await readiness.problems();
      await clock.advance(1_000);
    }
    expect(logged).toEqual([
      "error: the store takes no writes; this node is not ready (insufficient_storage: Full.)",
      "info: the store takes writes again",
    ]);
  });

  it("holds while the store accepts writes", async () => {
    const { clock, state, readiness } = givenReadiness();
    expect(await readiness.problems()).toEqual([]);
    state.fails = true;
    await clock.advance(1_000);
    expect(await readiness.problems()).toEqual([
      "The store takes no writes. Look at the disk and at the log.",
    ]);
    state.fails = false;
    await clock.advance(1_000);
    expect(await readiness.problems()).toEqual([]);
  });

  it("probes the store at most once a second", async () => {
    const { clock, state, readiness } = givenReadiness();
    await Promise.all(Array.from({ length: 50 }, () => readiness.problems()));
    await clock.advance(999);
    state.fails = true;
    expect(await readiness.problems()).toEqual([]);
    expect(state.probes).toBe(1);
    await clock.advance(1);
    expect(await readiness.problems()).toHaveLength(1);
    expect(state.probes).toBe(2);
  });

  it("starts no second probe while the store hangs, and caches the result for a second", async () => {
    const { clock, state, readiness } = givenReadiness();
    const gate = Promise.withResolvers<void>();
    state.gate = gate.promise;
    const early = readiness.problems();
    await clock.advance(5_000);
    const late = readiness.problems();
    gate.resolve();
    expect([await early, await late, state.probes]).toEqual([[], [], 1]);
    await clock.advance(999);
    await readiness.problems();
    expect(state.probes).toBe(1);
  });

  it("ends when the service stops, without further probes", async () => {
    const { state, readiness } = givenReadiness();
    expect(readiness.stopping).toBe(false);
    readiness.stop();
    expect(readiness.stopping).toBe(true);
    expect(await readiness.problems()).toEqual(["The service is stopping."]);
    expect(state.probes).toBe(0);
  });

  it("refuses work after a stop if no other process continues it", () => {
    const [alone, among] = [true, false].map((isAlone) => givenReadiness(isAlone).readiness);
    const refusals = () => [alone!.refusesWork, among!.refusesWork];
    expect(refusals()).toEqual([false, false]);
    alone!.stop();
    among!.stop();
    expect(refusals()).toEqual([true, false]);
  });
});
