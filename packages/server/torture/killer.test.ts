import { describe, expect, it } from "vitest";
import { createRandom } from "./harness/random.ts";
import { killMoments } from "./killer.ts";

describe("moments to kill", () => {
  it("are as many as planned, in order, the last at the end, the same for a seed", () => {
    const plan = { kills: 30, duration: 90_000 };
    const moments = killMoments(plan, createRandom(1));
    expect(moments).toHaveLength(30);
    expect(moments).toEqual(moments.toSorted((one, other) => one - other));
    expect(moments.at(-1)).toBeCloseTo(90_000);
    expect(moments).toEqual(killMoments(plan, createRandom(1)));
    expect(moments).not.toEqual(killMoments(plan, createRandom(2)));
  });
});
