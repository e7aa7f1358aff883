import { describe, expect, it } from "vitest";
import { isLine, MAX_SERIES, peak, REST_LABEL, sumsBy, total, valuesAt } from "./series.ts";

interface Row {
  readonly start: number;
  readonly name: string;
  readonly value: number;
}

const row = (start: number, name: string, value: number): Row => ({ start, name, value });
const OF = {
  start: ({ start }: Row) => start,
  name: ({ name }: Row) => name,
  value: ({ value }: Row) => value,
};

describe("sums", () => {
  it("belong to the bucket of their rows, 0 without rows, the largest series first", () => {
    const rows = [row(0, "small", 1), row(20, "large", 5), row(20, "large", 2), row(30, "large", 100)];
    expect(sumsBy(rows, [0, 10, 20], OF)).toEqual([
      { label: "large", values: [0, 0, 7] },
      { label: "small", values: [1, 0, 0] },
    ]);
  });

  it("beyond the distinguishable number are merged into one series, and nothing is lost", () => {
    const rows = Array.from({ length: 10 }, (_, at) => row(10 * (at % 2), `app ${at}`, 10 - at));
    const lines = sumsBy(rows, [0, 10], OF);
    expect(lines).toHaveLength(MAX_SERIES);
    expect(lines.at(-1)).toEqual({ label: REST_LABEL, values: [6 + 4 + 2, 5 + 3 + 1] });
    expect(total(lines.flatMap(({ values }) => values))).toBe(55);
  });

  it("have no merged series if exactly the distinguishable number exist", () => {
    const rows = Array.from({ length: MAX_SERIES }, (_, at) => row(0, `app ${at}`, 1));
    const labels = sumsBy(rows, [0], OF).map(({ label }) => label);
    expect(labels).toEqual(["app 0", "app 1", "app 2", "app 3", "app 4"]);
  });

  it("handle names that are object methods", () => {
    expect(sumsBy([row(0, "__proto__", 3)], [0], OF)).toEqual([{ label: "__proto__", values: [3] }]);
  });
});

it("valuesAt leaves gaps without data", () => {
  expect(valuesAt([row(10, "", 4)], [0, 10, 20], OF)).toEqual([null, 4, null]);
});

it("peak finds the maximum, and none in a flat line at 0", () => {
  expect(peak([null, 1, 7, 7, 2])).toEqual({ value: 7, index: 2 });
  expect(peak([0, null])).toBeNull();
  expect(total([null, 1, 2])).toBe(3);
});

it("isLine is false for a single value", () => {
  const of = (...values: (number | null)[]) => ({ label: "p50", values });
  expect(isLine([of(null, 3, null), of(null, 4, null)])).toBe(false);
  expect(isLine([of(null, 3, null), of(2, 4, null)])).toBe(true);
  expect(isLine([of(0, 0)])).toBe(true);
  expect(isLine([])).toBe(false);
});
