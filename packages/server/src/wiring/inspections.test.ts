import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jsonSchema, tool } from "ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Inspected } from "../config/apps.ts";
import { loadConfig } from "../config/load-config.ts";
import type { OpenApiSettings } from "../core/app-settings.ts";
import { Hidden } from "../core/hidden.ts";
import { inspections } from "./inspections.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "inspections-"));
  path = join(folder, "shop.json");
});
afterEach(() => rm(folder, { recursive: true }));

async function inspect(paths: object, service: Partial<OpenApiSettings> = {}): Promise<readonly Inspected[]> {
  const info = { title: "Shop", version: "1" };
  await writeFile(path, JSON.stringify({ openapi: "3.1.0", info, paths }));
  const usual = { baseURL: "https://shop.test", operations: null, headers: new Hidden({}) };
  return await inspections.document({ document: path, ...usual, ...service });
}

const ok = { 200: { description: "Fine" } };
const form = {
  required: true,
  content: { "application/x-www-form-urlencoded": { schema: { type: "object" } } },
};
const SHOP = {
  "/list": { get: { operationId: "list", responses: ok } },
  "/charge": { post: { operationId: "charge", requestBody: form, responses: ok } },
};
const LEFT_OUT = "left out: Its body is application/x-www-form-urlencoded, and only JSON is supported.";

describe("an OpenAPI document in a file", () => {
  it("has a problem for a selected operation that is unsupported", async () => {
    expect(await inspect(SHOP, { operations: ["list", "charge"] })).toEqual([
      { path: ["operations", 1], message: `${path}, charge: ${LEFT_OUT}`, isWarning: false },
    ]);
  });

  it("has warnings for unsupported operations that were not selected", async () => {
    expect(await inspect(SHOP)).toEqual([
      { path: ["document"], message: `${path}, charge: ${LEFT_OUT}`, isWarning: true },
    ]);
    const optional = {
      "/a": { post: { operationId: "a", requestBody: { ...form, required: false }, responses: ok } },
    };
    expect(await inspect(optional, { operations: ["a"] })).toMatchObject([
      { path: ["operations", 0], isWarning: true },
    ]);
  });

  it("has one problem for a selected operation that it does not contain", async () => {
    expect(await inspect(SHOP, { operations: ["lists"] })).toEqual([
      {
        path: ["operations", 0],
        message: `${path} has no operation "lists". It has list, charge.`,
        isWarning: false,
      },
    ]);
  });

  it("has a problem if it names no server", async () => {
    expect(await inspect(SHOP, { baseURL: null })).toMatchObject([{ path: ["baseURL"], isWarning: false }]);
  });

  it("is reported with its location in the configuration", async () => {
    await inspect(SHOP);
    const openapi = { o: { document: "./shop.json", baseURL: "https://shop.test", operations: ["charge"] } };
    await writeFile(join(folder, "colloquy.config.json"), JSON.stringify({ apps: { default: { openapi } } }));
    const loaded = await loadConfig({ environment: {}, workingDirectory: folder, inspections });
    expect(loaded).toMatchObject({
      ok: false,
      problems: [{ location: "apps.default.openapi.o.operations[0]" }],
    });
  });
});

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
