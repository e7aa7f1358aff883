import { expect, it } from "vitest";
import {
  clampedRange,
  earlierRange,
  isTooMany,
  laterRange,
  newestRange,
  rangeAround,
} from "./shown-range.ts";

it("initially shows the newest 50 messages, or all if there are fewer", () => {
  expect([0, 1, 50, 51, 500].map((total) => newestRange(total).from)).toEqual([0, 0, 0, 1, 450]);
});

it("shows 50 more on each request, until all are shown", () => {
  expect([450, 51, 50, 7, 0].map((from) => earlierRange({ from, to: null }).from)).toEqual([400, 1, 0, 0, 0]);
  expect([100, 450, 451].map((to) => laterRange({ from: 0, to }, 501).to)).toEqual([150, 500, null]);
});

it("exceeds the maximum after two requests, but not after one", () => {
  expect([50, 100, 101].map(isTooMany)).toEqual([false, false, true]);
});

it("shows 100 messages around a hidden one, or the newest if it is one of the last", () => {
  const shown = newestRange(20_000);
  expect(rangeAround(19_950, shown, 20_000)).toBe(shown);
  expect(rangeAround(19_949, shown, 20_000)).toEqual({ from: 19_939, to: null });
  expect(rangeAround(5_000, shown, 20_000)).toEqual({ from: 4_990, to: 5_090 });
  expect(rangeAround(3, shown, 20_000)).toEqual({ from: 0, to: 100 });
  const middle = { from: 4_990, to: 5_090 };
  expect(rangeAround(5_089, middle, 20_000)).toBe(middle);
  expect(rangeAround(5_090, middle, 20_000)).toEqual({ from: 5_080, to: 5_180 });
});

it("is limited to the loaded messages, and shows the newest after a removal", () => {
  expect(clampedRange({ from: 100, to: null }, 0, 150)).toEqual({ from: 100, to: null });
  expect(clampedRange({ from: 100, to: null }, 120, 150)).toEqual({ from: 120, to: null });
  expect(clampedRange({ from: 100, to: 200 }, 0, 300)).toEqual({ from: 100, to: 200 });
  expect(clampedRange({ from: 100, to: 200 }, 0, 200)).toEqual({ from: 100, to: null });
  expect(clampedRange({ from: 100, to: 200 }, 250, 300)).toEqual({ from: 250, to: null });
  expect(clampedRange({ from: 100, to: null }, 0, 100)).toEqual({ from: 50, to: null });
  expect(clampedRange({ from: 100, to: 200 }, 0, 2)).toEqual({ from: 0, to: null });
  expect(clampedRange({ from: 0, to: null }, 0, 0)).toEqual({ from: 0, to: null });
});
