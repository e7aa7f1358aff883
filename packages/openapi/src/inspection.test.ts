import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../server/src/config/load-config.ts";
import { Hidden } from "@colloquy/engine/tool-source";
import { inspectDocument } from "./inspection.ts";
import type { OpenApiSettings } from "./settings.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "inspection-"));
  path = join(folder, "shop.json");
});
afterEach(() => rm(folder, { recursive: true }));

interface Inspected {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly isWarning: boolean;
}

async function inspect(paths: object, service: Partial<OpenApiSettings> = {}): Promise<readonly Inspected[]> {
  const info = { title: "Shop", version: "1" };
  await writeFile(path, JSON.stringify({ openapi: "3.1.0", info, paths }));
  const usual = { baseURL: "https://shop.test", operations: null, headers: new Hidden({}) };
  const found: Inspected[] = [];
  await inspectDocument(
    { document: path, ...usual, ...service },
    {
      problem: (where, message) => void found.push({ path: where, message, isWarning: false }),
      warn: (where, message) => void found.push({ path: where, message, isWarning: true }),
    },
  );
  return found;
}

const ok = { 200: { description: "Fine" } };
const form = {
  required: true,
  content: { "multipart/form-data": { schema: { type: "object" } } },
};
const SHOP = {
  "/list": { get: { operationId: "list", responses: ok } },
  "/charge": { post: { operationId: "charge", requestBody: form, responses: ok } },
};
const LEFT_OUT =
  "left out: Its body is multipart/form-data, and only JSON and forms without files are supported.";

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
    const loaded = await loadConfig({ environment: {}, workingDirectory: folder });
    expect(loaded).toMatchObject({
      ok: false,
      problems: [{ location: "apps.default.openapi.o.operations[0]" }],
    });
  });
});
