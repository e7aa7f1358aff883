// Cost of validating untrusted JSON compared with JSON.parse alone. In this process, without requests.

import { parseJson } from "../../src/http/json-text.ts";
import { median } from "../statistics.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";
import type { RowContext } from "./row.ts";

/** Characters of each text: the maximum body size. */
const SIZE = 256 * 1024;
const RUNS = 20;

/** Elements of the list. */
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

/** Returns the milliseconds of the fastest run: other load only makes runs slower. */
function fastest(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < RUNS; index += 1) {
    const begun = performance.now();
    run();
    least = Math.min(least, performance.now() - begun);
  }
  return least;
}
