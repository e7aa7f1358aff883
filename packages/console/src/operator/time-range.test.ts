import { describe, expect, it } from "vitest";
import { bucketsOf, bucketStarts, fittingBucket, RANGES, span } from "./time-range.ts";

const range = (name: string) => RANGES.find((range) => range.name === name)!;
const iso = (time: number): string => new Date(time).toISOString();

describe("the buckets of a range", () => {
  it("give at least three points, and not thousands", () => {
    const all = ["minute", "hour", "day"] as const;
    expect(bucketsOf(range("1h"), all)).toEqual(["minute"]);
    expect(bucketsOf(range("24h"), all)).toEqual(["minute", "hour"]);
    expect(bucketsOf(range("7d"), all)).toEqual(["hour", "day"]);
    expect(bucketsOf(range("90d"), all)).toEqual(["day"]);
    expect(bucketsOf(range("1h"), ["hour", "day"])).toEqual([]);
  });

  it("keep the selection while it fits, and otherwise use the bucket closest to sixty points", () => {
    expect(fittingBucket(range("24h"), ["minute", "hour", "day"], "minute")).toBe("minute");
    expect(fittingBucket(range("24h"), ["minute", "hour", "day"], "day")).toBe("hour");
    expect(fittingBucket(range("30d"), ["hour", "day"], null)).toBe("day");
    expect(fittingBucket(range("1h"), ["hour", "day"], "hour")).toBeNull();
  });

  it("start on UTC boundaries, also across clock changes", () => {
    const starts = bucketStarts(Date.UTC(2026, 9, 24, 13, 5), Date.UTC(2026, 9, 26, 1), "day").map(iso);
    expect(starts).toEqual([
      "2026-10-24T00:00:00.000Z",
      "2026-10-25T00:00:00.000Z",
      "2026-10-26T00:00:00.000Z",
    ]);
  });

  it("exclude a bucket that starts at the end", () => {
    expect(bucketStarts(0, 120_000, "minute")).toEqual([0, 60_000]);
    expect(bucketStarts(0, 120_001, "minute")).toEqual([0, 60_000, 120_000]);
  });
});

it("span from the start of a bucket until now", () => {
  const { from, to } = span(range("24h"), "hour", Date.UTC(2026, 10, 21, 17, 35, 9, 7));
  expect([iso(from), iso(to)]).toEqual(["2026-11-20T17:00:00.000Z", "2026-11-21T17:35:09.007Z"]);
});
