import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { USUAL_LIMITS } from "./testing/usual-limits.ts";
import { TurnDeadline } from "./turn-limits.ts";

const MINUTE = 60_000;

function start(ranMs = 0) {
  const clock = new ManualClock();
  return { clock, deadline: new TurnDeadline(clock, USUAL_LIMITS, ranMs) };
}

describe("a turn", () => {
  it("is stopped after five minutes without progress, and not before", async () => {
    const { clock, deadline } = start();
    await clock.advance(5 * MINUTE - 1);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.failure?.code).toBe("turn_stalled");
  });

  it("has five minutes again from each progress", async () => {
    const { clock, deadline } = start();
    await clock.advance(4 * MINUTE);
    deadline.progress();
    await clock.advance(5 * MINUTE - 1);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(deadline.failure?.code).toBe("turn_stalled");
  });

  it("is stopped after ten minutes whatever progress it makes, and the first reason stays", async () => {
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

  it("has what earlier attempts have left of its time, and its whole time without progress", async () => {
    const { clock, deadline } = start(7 * MINUTE);
    expect(deadline.left).toBe(3 * MINUTE);
    await clock.advance(3 * MINUTE - 1);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(deadline.failure?.code).toBe("turn_timeout");
  });

  it.each([[10 * MINUTE], [11 * MINUTE]])("has no time left when it ran for %s ms before", (ranMs) => {
    const { deadline } = start(ranMs);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.failure?.code).toBe("turn_timeout");
  });

  it("knows how long it may wait", async () => {
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

  it("leaves no timer when it is over", async () => {
    const { clock, deadline } = start();
    await clock.advance(MINUTE);
    deadline.progress();
    await clock.advance(5 * MINUTE - 1);
    deadline.stop();
    expect(clock.timers).toBe(0);
    expect(deadline.failure).toBeNull();
  });

  it("can be aborted without a limit being passed", () => {
    const { deadline } = start();
    deadline.abort();
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.failure).toBeNull();
  });
});
