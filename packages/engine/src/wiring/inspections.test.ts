import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jsonSchema, tool } from "ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "../../../server/src/config/load-config.ts";
import { inspections } from "./inspections.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "inspections-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("a custom tool", () => {
  const reasonFor = (inputSchema: unknown) => inspections.ownTool("work", { inputSchema, execute: () => 1 });

  it.each([
    ["a schema that is written down without jsonSchema()", { type: "object" }],
    ["a schema that is a number", 5],
    ["a schema with what JSON cannot hold", z.object({ at: z.date() })],
    ["a schema of something else than an object", z.string()],
    [
      "a JSON Schema that cannot be checked",
      jsonSchema({ type: "object", properties: { a: { $ref: "https://x.test/a" } } }),
    ],
  ])("has a problem with %s", async (_case, inputSchema) => {
    expect(await reasonFor(inputSchema)).toMatch(/^cannot be used\. The input schema of the tool work /);
  });

  it("accepts a Zod schema or a JSON Schema", async () => {
    expect(await reasonFor(z.object({ at: z.iso.date() }))).toBeNull();
    expect(await reasonFor(jsonSchema({ type: "object", properties: {} }))).toBeNull();
    const made = tool({ description: () => "x", inputSchema: z.object({}), execute: () => 1 });
    expect(await inspections.ownTool("work", made)).toBeNull();
  });

  it("is reported with its location in the configuration", async () => {
    await writeFile(
      join(folder, "colloquy.config.mjs"),
      `export default { apps: { default: { tools: { work: { inputSchema: { type: "object" }, execute() {} } } } } };`,
    );
    const environment = { COLLOQUY_CONFIG: join(folder, "colloquy.config.mjs") };
    const loaded = await loadConfig({ environment, workingDirectory: folder, inspections });
    expect(loaded).toMatchObject({ ok: false, problems: [{ location: "apps.default.tools.work" }] });
  });
});
