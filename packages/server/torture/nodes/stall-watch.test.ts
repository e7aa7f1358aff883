import { describe, expect, it } from "vitest";
import { AFTER_DEATH_MS, STUCK_MS, StallWatch, type Work } from "./stall-watch.ts";

const OWNER = "node-1.1";

function work(mark: string, owner: string | null = OWNER): Work {
  return { sessionKey: 7, mark, owner };
}

describe("a session with work", () => {
  it("is stuck once it has made no progress for STUCK_MS", () => {
    const watch = new StallWatch();
    watch.look([work("a")], 0);
    expect(watch.look([work("a")], STUCK_MS)).toEqual([]);
    expect(watch.look([work("a")], STUCK_MS + 1).map(({ sessionKey }) => sessionKey)).toEqual([7]);
    expect(watch.longestMs).toBe(STUCK_MS + 1);
  });

  it("is not stuck while it progresses or when its work is done", () => {
    const watch = new StallWatch();
    for (let second = 0; second < 60; second += 1) {
      expect(watch.look([work(String(second))], second * 1000)).toEqual([]);
    }
    expect(watch.look([], 70_000)).toEqual([]);
    expect(watch.look([work("new")], 100_000)).toEqual([]);
    expect(watch.longestMs).toBe(0);
  });

  it("is not stuck if it was not observed for long enough", () => {
    const watch = new StallWatch();
    watch.look([work("a")], 0);
    expect(watch.look([work("b")], STUCK_MS + 1)).toEqual([]);
    expect(watch.longestMs).toBe(0);
  });

  it("is stuck sooner after its owner's death, counted from the death", () => {
    const watch = new StallWatch();
    watch.look([work("a")], 0);
    watch.disturb(OWNER, "death", 10_000);
    // The sweep has released the lease, and nobody has claimed the turn yet.
    expect(watch.look([work("a", null)], 10_000 + AFTER_DEATH_MS)).toEqual([]);
    expect(watch.look([work("a", null)], 10_001 + AFTER_DEATH_MS)).toEqual([
      { sessionKey: 7, detail: expect.stringContaining("its owner node-1.1 has died") },
    ]);
    expect(watch.longestAfterDeathMs).toBe(AFTER_DEATH_MS + 1);
  });

  it("is not excused by faults of other processes", () => {
    const watch = new StallWatch();
    watch.look([work("a")], 0);
    watch.disturb("node-2.1", "fault", STUCK_MS);
    expect(watch.look([work("a")], STUCK_MS + 1)).toHaveLength(1);
  });

  it("is excused by its owner's faults, and by an unavailable database", () => {
    const watch = new StallWatch();
    watch.look([work("a")], 0);
    watch.disturb(OWNER, "fault", 5_000);
    expect(watch.look([work("a")], 5_000 + STUCK_MS)).toEqual([]);
    watch.disturbAll(20_000);
    expect(watch.look([work("a")], 20_000 + STUCK_MS)).toEqual([]);
    expect(watch.look([work("a")], 20_001 + STUCK_MS)).toHaveLength(1);
  });
});
