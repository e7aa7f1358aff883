import { expect, it } from "vitest";
import { z } from "zod";
import { invalidParameter } from "./invalid-parameter.ts";

const LONG = "n".repeat(9_000);

it.each([
  ["a name that no schema knows", z.object({ a: z.strictObject({}) }), { a: { [LONG]: 1 } }],
  ["the path to a value", z.object({ a: z.record(z.string(), z.string()) }), { a: { [LONG]: 1 } }],
])("quotes %s only in part", (_what, schema, sent) => {
  const { detail } = invalidParameter("body field", sent, schema.safeParse(sent).error!);
  expect(detail).toMatch(/n{90}/);
  expect(detail.length).toBeLessThan(300);
});
