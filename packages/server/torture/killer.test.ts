import { describe, expect, it } from "vitest";
import { createRandom } from "./harness/random.ts";
import { planRuns } from "./killer.ts";

describe("planRuns", () => {
  const plan = { kills: 30, serving: 90_000 };

  it("plans as many runs as kills, with the planned total time, reproducibly", () => {
    const runs = planRuns(plan, createRandom(1));
    expect(runs).toHaveLength(30);
    const served = runs.filter(({ endsMsAfter }) => endsMsAfter === "ready").map(({ ms }) => ms);
    expect(served.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(90_000);
    expect(new Set(served).size).toBe(served.length);
    expect(runs).toEqual(planRuns(plan, createRandom(1)));
    expect(runs).not.toEqual(planRuns(plan, createRandom(2)));
  });

  it("ends some of them while the server starts", () => {
    const runs = Array.from({ length: 20 }, (_empty, seed) => planRuns(plan, createRandom(seed))).flat();
    const atStart = runs.filter(({ endsMsAfter }) => endsMsAfter === "start");
    expect(atStart.length / runs.length).toBeGreaterThan(0.1);
    expect(atStart.length / runs.length).toBeLessThan(0.2);
    expect(Math.max(...atStart.map(({ ms }) => ms))).toBeLessThan(1500);
  });
});
