import { describe, expect, it } from "vitest";
import { createRandom } from "./harness/random.ts";
import { planLives } from "./killer.ts";

describe("planLives", () => {
  const plan = { kills: 30, serving: 90_000 };

  it("plans as many lives as kills, with the planned total time, reproducibly", () => {
    const lives = planLives(plan, createRandom(1));
    expect(lives).toHaveLength(30);
    const served = lives.filter(({ endsMsAfter }) => endsMsAfter === "ready").map(({ ms }) => ms);
    expect(served.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(90_000);
    expect(new Set(served).size).toBe(served.length);
    expect(lives).toEqual(planLives(plan, createRandom(1)));
    expect(lives).not.toEqual(planLives(plan, createRandom(2)));
  });

  it("ends some of them while the server starts", () => {
    const lives = Array.from({ length: 20 }, (_empty, seed) => planLives(plan, createRandom(seed))).flat();
    const atStart = lives.filter(({ endsMsAfter }) => endsMsAfter === "start");
    expect(atStart.length / lives.length).toBeGreaterThan(0.1);
    expect(atStart.length / lives.length).toBeLessThan(0.2);
    expect(Math.max(...atStart.map(({ ms }) => ms))).toBeLessThan(1500);
  });
});
