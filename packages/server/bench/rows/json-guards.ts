// What it costs to check JSON from outside, beside JSON.parse alone. In this process: no request has a part in it.

import { parseJson } from "../../src/http/json-text.ts";
import { median } from "../statistics.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";
import type { RowContext } from "./row.ts";

/** Characters of each text: the longest body there is. */
const SIZE = 256 * 1024;
const RUNS = 20;

/** What a list is full of. */
const UNITS = ["{},", "[],", '"",', '{"a":1},', '{"a":1,"b":2},', "1,"];

export function measureJsonGuards({ rounds }: RowContext): Promise<readonly Row[]> {
  return Promise.resolve(UNITS.map((unit) => measureUnit(unit, rounds)));
}

function measureUnit(unit: string, count: number): Row {
  const text = `[${unit.repeat(Math.floor(SIZE / unit.length))}0]`;
  const rounds = Array.from({ length: count }, () => ({
    colloquy: fastest(() => parseJson(text)),
    control: fastest(() => JSON.parse(text) as unknown),
  }));
  const ratios = rounds.map(({ colloquy, control }) => colloquy / control);
  return {
    name: `checking and parsing 256 KB of \`${unit}\`, against JSON.parse alone`,
    colloquy: formatMs(median(rounds.map(({ colloquy }) => colloquy))),
    control: formatMs(median(rounds.map(({ control }) => control))),
    ratio: formatRounds(ratios),
    target: "at most 3",
    met: median(ratios) <= 3,
  };
}

/** Milliseconds of the fastest run: what others do on the machine only makes one slower. */
function fastest(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < RUNS; index += 1) {
    const begun = performance.now();
    run();
    least = Math.min(least, performance.now() - begun);
  }
  return least;
}
