import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { DEFAULT_LIMITS } from "./testing/default-limits.ts";
import { TurnDeadline } from "./running-turns.ts";

const MINUTE = 60_000;

function start(ranMs = 0) {
  const clock = new ManualClock();
  return { clock, deadline: new TurnDeadline(clock, DEFAULT_LIMITS, ranMs) };
}

describe("TurnDeadline", () => {
  it("stops a turn after five minutes without progress, and not before", async () => {
    const { clock, deadline } = start();
    await clock.advance(5 * MINUTE - 1);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.failure?.code).toBe("turn_stalled");
  });

  it("restarts the five minutes on progress", async () => {
    const { clock, deadline } = start();
    await clock.advance(4 * MINUTE);
    deadline.progress();
    await clock.advance(5 * MINUTE - 1);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(deadline.failure?.code).toBe("turn_stalled");
  });

  it("stops a turn after ten minutes despite progress, and keeps the first failure", async () => {
    const { clock, deadline } = start();
    for (let second = 0; second < 599; second += 1) {
      await clock.advance(1_000);
      deadline.progress();
    }
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1_000);
    expect(deadline.failure?.code).toBe("turn_timeout");
    await clock.advance(10 * MINUTE);
    expect(deadline.failure?.code).toBe("turn_timeout");
  });

  it("subtracts the time of earlier attempts from the total time, but not from the idle time", async () => {
    const { clock, deadline } = start(7 * MINUTE);
    expect(deadline.left).toBe(3 * MINUTE);
    await clock.advance(3 * MINUTE - 1);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(deadline.failure?.code).toBe("turn_timeout");
  });

  it.each([[10 * MINUTE], [11 * MINUTE]])("stops at once if earlier attempts took %s ms", (ranMs) => {
    const { deadline } = start(ranMs);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.failure?.code).toBe("turn_timeout");
  });

  it("returns the remaining time", async () => {
    const { clock, deadline } = start();
    expect(deadline.left).toBe(5 * MINUTE);
    await clock.advance(2 * MINUTE);
    expect(deadline.left).toBe(3 * MINUTE);
    deadline.progress();
    expect(deadline.left).toBe(5 * MINUTE);
    await clock.advance(4 * MINUTE);
    deadline.progress();
    expect(deadline.left).toBe(4 * MINUTE);
  });

  it("leaves no timer after the stop", async () => {
    const { clock, deadline } = start();
    await clock.advance(MINUTE);
    deadline.progress();
    await clock.advance(5 * MINUTE - 1);
    deadline.stop();
    expect(clock.timers).toBe(0);
    expect(deadline.failure).toBeNull();
  });

  it("aborts without a failure", () => {
    const { deadline } = start();
    deadline.abort();
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.failure).toBeNull();
  });
});
