import { describe, expect, it } from "vitest";
import { median, percentile, spread } from "./statistics.ts";

describe("statistics", () => {
  it("compute percentiles by nearest rank", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([0, 0.01, 0.5, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([1, 1, 50, 99, 100]);
    expect(percentile([7], 0.99)).toBe(7);
    expect(() => percentile([], 0.5)).toThrow("No values");
  });

  it("compute the median of odd and even numbers of values", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(() => median([])).toThrow("No values");
  });

  it("compute minimum and maximum numerically", () => {
    expect(spread([10, 9, 100])).toEqual([9, 100]);
  });
});
