import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { reconnectDelay, ReconnectPlan } from "./reconnect-plan.ts";

/** Advances the clock until the plan is due, and returns the seconds that took. */
async function secondsUntilDue(clock: ManualClock, due: readonly number[]): Promise<number> {
  const before = due.length;
  for (let seconds = 1; seconds <= 600; seconds += 1) {
    await clock.advance(1_000);
    if (due.length > before) return seconds;
  }
  return Number.POSITIVE_INFINITY;
}

function plan(isKept = true) {
  const clock = new ManualClock();
  const due: number[] = [];
  const onDue = (): void => void due.push(clock.now());
  return { clock, due, plan: new ReconnectPlan({ clock, random: () => 1, onDue: isKept ? onDue : null }) };
}

describe("ReconnectPlan", () => {
  it("doubles the delay with each failure up to five minutes, with jitter", () => {
    expect([0, 1, 2, 3].map((failures) => reconnectDelay(failures, 1))).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(reconnectDelay(3, 0)).toBe(4_000);
    expect(reconnectDelay(1_000, 1)).toBe(300_000);
  });

  it("increases the delay after a short connection, and resets it after a long one", async () => {
    const { clock, due, plan: made } = plan();
    made.opened();
    made.lost();
    expect(await secondsUntilDue(clock, due)).toBe(2);
    made.opened();
    made.lost();
    expect(await secondsUntilDue(clock, due)).toBe(4);
    made.opened();
    await clock.advance(60_000);
    made.lost();
    expect(made.isDue).toBe(false);
    expect(await secondsUntilDue(clock, due)).toBe(1);
    expect(made.isDue).toBe(true);
  });

  it("becomes due without a timer if the connection is opened on demand only", async () => {
    const { clock, due, plan: made } = plan(false);
    made.failed();
    expect(made.isDue).toBe(false);
    await clock.advance(600_000);
    expect([due, made.isDue, clock.timers]).toEqual([[], true, 0]);
  });
});
