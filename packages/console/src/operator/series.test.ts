import { describe, expect, it } from "vitest";
import { isLine, MOST_SERIES, peak, REST_LABEL, sumsBy, total, valuesAt } from "./series.ts";

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
  it("stand in the bucket of their rows, 0 where there are none, the largest line first", () => {
    const rows = [row(0, "small", 1), row(20, "large", 5), row(20, "large", 2), row(30, "large", 100)];
    expect(sumsBy(rows, [0, 10, 20], OF)).toEqual([
      { label: "large", values: [0, 0, 7] },
      { label: "small", values: [1, 0, 0] },
    ]);
  });

  it("of more than can be told apart are one line together, and nothing is lost", () => {
    const rows = Array.from({ length: 10 }, (_, at) => row(10 * (at % 2), `app ${at}`, 10 - at));
    const lines = sumsBy(rows, [0, 10], OF);
    expect(lines).toHaveLength(MOST_SERIES);
    expect(lines.at(-1)).toEqual({ label: REST_LABEL, values: [6 + 4 + 2, 5 + 3 + 1] });
    expect(total(lines.flatMap(({ values }) => values))).toBe(55);
  });

  it("have no line of others where exactly as many are there as can be told apart", () => {
    const rows = Array.from({ length: MOST_SERIES }, (_, at) => row(0, `app ${at}`, 1));
    const labels = sumsBy(rows, [0], OF).map(({ label }) => label);
    expect(labels).toEqual(["app 0", "app 1", "app 2", "app 3", "app 4"]);
  });

  it("keep names that objects have by themselves", () => {
    expect(sumsBy([row(0, "__proto__", 3)], [0], OF)).toEqual([{ label: "__proto__", values: [3] }]);
  });
});

it("leaves gaps where nothing was measured", () => {
  expect(valuesAt([row(10, "", 4)], [0, 10, 20], OF)).toEqual([null, 4, null]);
});

it("finds the peak, and none in a flat line at 0", () => {
  expect(peak([null, 1, 7, 7, 2])).toEqual({ value: 7, index: 2 });
  expect(peak([0, null])).toBeNull();
  expect(total([null, 1, 2])).toBe(3);
});

it("one value alone is no line", () => {
  const of = (...values: (number | null)[]) => ({ label: "p50", values });
  expect(isLine([of(null, 3, null), of(null, 4, null)])).toBe(false);
  expect(isLine([of(null, 3, null), of(2, 4, null)])).toBe(true);
  expect(isLine([of(0, 0)])).toBe(true);
  expect(isLine([])).toBe(false);
});
