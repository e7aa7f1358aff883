// Scrubbing secrets from a tool's output, beside one regular expression of the values as they are. Runs in this process.

import { createHash } from "node:crypto";
import { createScrubber } from "@colloquy/engine/internal/tools/scrub";
import { median } from "../statistics.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";
import { fastestMs, type RowContext } from "./row.ts";

/** Characters of each text. */
const SIZE = 200 * 1024;

const SECRETS = Array.from({ length: 10 }, (_, index) => `sk-${hash(`secret ${index}`, "base64url")}`);

/** Outputs that contain no secret, as nearly all do, by name. */
const TEXTS: Readonly<Record<string, string>> = {
  words: textOf((index) => `${hash(`word ${index % 500}`, "base64url").replaceAll(/[^a-z]/g, "")} `),
  "JSON records": textOf((index) => `{"id":${index},"name":"${hash(`${index % 500}`, "hex").slice(0, 8)}"},`),
  base64: textOf((index) => hash(`${index}`, "base64").slice(0, 40)),
};

/** The ratio of the scrubber before it searched for more encodings, by text; measured on commit ad788db. */
const BEFORE: Readonly<Record<string, number>> = { words: 72, "JSON records": 53, base64: 56 };

export function measureScrub({ rounds }: RowContext): Promise<readonly Row[]> {
  return Promise.resolve(Object.entries(TEXTS).map(([name, text]) => measureText(name, text, rounds)));
}

function measureText(name: string, text: string, count: number): Row {
  const scrub = createScrubber(SECRETS);
  const values = new RegExp(SECRETS.join("|"), "gi");
  const rounds = Array.from({ length: count }, () => ({
    colloquy: fastestMs(() => scrub(text)),
    control: fastestMs(() => text.replaceAll(values, "[secret]")),
  }));
  const ratios = rounds.map(({ colloquy, control }) => colloquy / control);
  const most = 1.1 * (BEFORE[name] ?? 0);
  return {
    name: `scrubbing ${SECRETS.length} secrets from 200 KB of ${name}, against one regular expression`,
    colloquy: formatMs(median(rounds.map(({ colloquy }) => colloquy))),
    control: formatMs(median(rounds.map(({ control }) => control))),
    ratio: formatRounds(ratios),
    target: `at most ${most.toFixed(0)}`,
    met: median(ratios) <= most,
  };
}

function textOf(part: (index: number) => string): string {
  let text = "";
  for (let index = 0; text.length < SIZE; index += 1) text += part(index);
  // Without a copy, V8 would flatten the parts within the first measurement.
  return Buffer.from(text.slice(0, SIZE)).toString();
}

function hash(text: string, encoding: "hex" | "base64" | "base64url"): string {
  return createHash("sha256").update(text).digest(encoding);
}
