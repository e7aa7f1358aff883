// Checking and parsing the JSON of a body, beside `JSON.parse` of its text. Runs in this process.

import { parseJsonBytes } from "../../src/http/json-text.ts";
import { median } from "../statistics.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";
import { fastestMs, type RowContext } from "./row.ts";

/** Characters of each text: the body limit of most operations. */
const SIZE = 64 * 1024;

const TEXTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["{},", "[],", '"",', '{"a":1},', '{"a":1,"b":2},', "1,", "1234567890123456,"].map((unit) => [
      `\`${unit}\``,
      `[${repeated(unit)}0]`,
    ]),
  ),
  "escaped quotes": messageOf(String.raw`\"`),
  "escaped characters": messageOf(String.raw`\u00e9`),
  backslashes: messageOf(String.raw`\\`),
  "Chinese text": messageOf("漢字仮名交じり文。"),
};

export function measureJsonGuards({ rounds }: RowContext): Promise<readonly Row[]> {
  return Promise.resolve(Object.entries(TEXTS).map(([name, text]) => measureText(name, text, rounds)));
}

function measureText(name: string, text: string, count: number): Row {
  const bytes = Buffer.from(text);
  const rounds = Array.from({ length: count }, () => ({
    colloquy: fastestMs(() => parseJsonBytes(bytes)),
    control: fastestMs(() => JSON.parse(bytes.toString()) as unknown),
  }));
  const ratios = rounds.map(({ colloquy, control }) => colloquy / control);
  return {
    name: `checking and parsing 64 KB of ${name}, against JSON.parse alone`,
    colloquy: formatMs(median(rounds.map(({ colloquy }) => colloquy))),
    control: formatMs(median(rounds.map(({ control }) => control))),
    ratio: formatRounds(ratios),
    target: "at most 3",
    met: median(ratios) <= 3,
  };
}

function messageOf(unit: string): string {
  return `{"message":"${repeated(unit)}"}`;
}

function repeated(unit: string): string {
  return unit.repeat(Math.floor(SIZE / unit.length));
}
