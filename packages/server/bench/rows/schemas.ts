// The dearest requests with JSON Schemas: tools of a chat that are refused, and a check at its bounds. Runs in this
// process, beside parsing the same bytes.

import type { JsonObject, JsonValue } from "@colloquy/engine/internal/core/json";
import { readTurnOptions } from "@colloquy/engine/internal/core/requested-options";
import { MAX_CHECKED_PAIRS, MAX_SCHEMA_VALUES } from "@colloquy/engine/internal/core/schema-size";
import { parseJsonBytes } from "../../src/http/json-text.ts";
import { SchemaChecker } from "@colloquy/engine/internal/schemas/schema-checker";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { median } from "../statistics.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";
import { fastestMs, type RowContext } from "./row.ts";

export async function measureSchemas({ rounds }: RowContext): Promise<readonly Row[]> {
  return [measureRefusal(rounds), ...(await measureCheck(rounds))];
}

/** As many tools, values and bytes as a chat may offer, and a forbidden keyword in the last place. */
function measureRefusal(count: number): Row {
  const filler = "a".repeat(200);
  const properties = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`${filler}${index}`, { enum: [1, 2] }]),
  );
  const tool = { description: "Draws", inputSchema: { type: "object", properties } };
  const tools = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`tool_${index}`, tool]));
  const wrong = { ...tool, inputSchema: { ...tool.inputSchema, pattern: "^a" } };
  const bytes = Buffer.from(JSON.stringify({ ...tools, last: wrong }));
  const refuse = (): void => {
    const parsed = parseJsonBytes(bytes);
    try {
      readTurnOptions({ clientTools: parsed.ok && parsed.value });
    } catch (error) {
      if (String(error).includes("must not use `pattern`")) return;
      throw error;
    }
    throw new Error("The tools were not refused.");
  };
  const measured = Array.from({ length: count }, () => ({
    colloquy: fastestMs(refuse),
    control: fastestMs(() => parseJsonBytes(bytes)),
  }));
  const ratios = measured.map(({ colloquy, control }) => colloquy / control);
  return {
    name: `refusing ${Math.round(bytes.length / 1024)} KB of \`client_tools\`, against parsing them`,
    colloquy: formatMs(median(measured.map(({ colloquy }) => colloquy))),
    control: formatMs(median(measured.map(({ control }) => control))),
    ratio: formatRounds(ratios),
    target: "at most 6",
    met: median(ratios) <= 6,
  };
}

/** A check of as many pairs of values as there may be: every number is compared with every value of an enum. */
async function measureCheck(count: number): Promise<readonly Row[]> {
  const values = Array.from({ length: MAX_SCHEMA_VALUES - 7 }, (_, index) => index);
  const schema: JsonObject = {
    type: "object",
    properties: { list: { type: "array", items: { enum: values } } },
  };
  const numbers = Math.floor(MAX_CHECKED_PAIRS / MAX_SCHEMA_VALUES) - 2;
  const text = JSON.stringify({ list: Array.from({ length: numbers }, () => values.length - 1) });
  const texts = [JSON.stringify(schema), text];
  const checker = new SchemaChecker({ clock: createSystemClock() });
  const checks = checker.of("default");
  await checks.problem(schema);
  const rounds: { readonly blocked: number; readonly total: number; readonly control: number }[] = [];
  for (let round = 0; round < count; round += 1) {
    const value = JSON.parse(text) as JsonValue;
    const started = performance.now();
    const checked = checks.mismatch(structuredClone(schema), value);
    const blocked = performance.now() - started;
    await checked;
    const total = performance.now() - started;
    const control = fastestMs(() => texts.map((one) => JSON.parse(one) as unknown));
    rounds.push({ blocked, total, control });
  }
  await checker.close();
  const ratios = rounds.map(({ blocked, control }) => blocked / control);
  const total = median(rounds.map((round) => round.total));
  const pairs = `${(MAX_CHECKED_PAIRS / 1e6).toFixed(0)} million pairs`;
  return [
    {
      name: `main thread in a schema check of ${pairs}, against parsing both texts`,
      colloquy: formatMs(median(rounds.map(({ blocked }) => blocked))),
      control: formatMs(median(rounds.map(({ control }) => control))),
      ratio: formatRounds(ratios),
      target: "at most 20",
      met: median(ratios) <= 20,
    },
    {
      name: "the same check until its answer, in its thread",
      colloquy: formatMs(total),
      control: "–",
      ratio: "–",
      target: "at most 1 s",
      met: total <= 1_000,
    },
  ];
}
