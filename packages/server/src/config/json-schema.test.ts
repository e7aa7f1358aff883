// The JSON Schema for editors and the lists of settings in docs/configuration.md are generated from the schema of the file.
// `vitest run packages/server/src/config/json-schema.test.ts -u` updates both.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createSchemaCheck } from "@colloquy/engine/internal/tools/input-check";
import {
  AppSection,
  appSection,
  OperatorsSection,
  SlotSection,
} from "@colloquy/engine/internal/config/app-schema";
import {
  ChainSection,
  LimitsSection,
  ProviderSection,
  RetentionSection,
} from "@colloquy/engine/internal/config/sections";
import { McpSection } from "@colloquy/mcp/internal/settings";
import { OpenApiSection } from "@colloquy/openapi/internal/settings";
import { BUNDLED_PLUGINS } from "./bundled-plugins.ts";
import { configFile, CorsSection, SignInSection, RateLimitsSection } from "./file-schema.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import { loadConfig } from "./load-config.ts";

const PUBLISHED = join(import.meta.dirname, "../../colloquy.schema.json");
const REFERENCE = join(import.meta.dirname, "../../../../docs/configuration.md");

const ConfigFile = configFile(BUNDLED_PLUGINS);
const published = jsonSchemaOf(BUNDLED_PLUGINS);

let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-schema-"));
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

/** As in `biome.json`. */
const LINE_WIDTH = 110;

it("matches the published JSON Schema", async () => {
  // The formatter of the repository puts lists of words on one line, if it has room.
  const words = /\[\n\s+("[^"]*"(?:,\n\s+"[^"]*")*)\n\s+\]/g;
  const text = JSON.stringify(published, null, 2).replaceAll(
    words,
    (lines: string, list: string, at: number, whole: string) => {
      const line = `[${list.replaceAll(/\n\s+/g, " ")}]`;
      const indent = at - whole.lastIndexOf("\n", at) - 1;
      return indent + line.length < LINE_WIDTH ? line : lines;
    },
  );
  await expect(`${text}\n`).toMatchFileSnapshot(PUBLISHED);
});

/** The sections that have a list of their own in the reference, by the name in its marker. */
const SECTIONS: Readonly<Record<string, readonly z.ZodObject[]>> = {
  file: [ConfigFile],
  apps: [appSection(BUNDLED_PLUGINS)],
  secrets: [SlotSection],
  users: [AppSection.shape.users.unwrap()],
  operators: [OperatorsSection],
  expiry: [AppSection.shape.expiry.unwrap()],
  mcp: McpSection.options,
  openapi: [OpenApiSection],
  chains: [ChainSection],
  providers: [ProviderSection],
  siwe: [SignInSection],
  cors: [CorsSection],
  limits: [LimitsSection],
  rateLimits: [RateLimitsSection],
  retention: [RetentionSection],
};

/** Sections whose list has only the settings that the list of another section does not have. */
const MORE_THAN: Readonly<Record<string, string>> = { operators: "users" };

it("matches the lists of docs/configuration.md", async () => {
  const page = await readFile(REFERENCE, "utf8");
  const found = new Set<string>();
  const rendered = page.replaceAll(
    /(<!-- settings: (\w+) -->\n)[^]*?(\n<!-- end -->)/g,
    (_, start: string, name: string, end: string) => {
      found.add(name);
      const known = settingsOf(SECTIONS[MORE_THAN[name] ?? ""] ?? []).map(([setting]) => setting);
      const settings = settingsOf(SECTIONS[name] ?? []).filter(([setting]) => !known.includes(setting));
      return `${start}${settingsList(settings)}${end}`;
    },
  );
  expect([...found].toSorted()).toEqual(Object.keys(SECTIONS).toSorted());
  await expect(rendered).toMatchFileSnapshot(REFERENCE);
});

type Setting = { readonly description?: string; readonly default?: unknown };

function settingsOf(sections: readonly z.ZodObject[]): readonly (readonly [name: string, Setting])[] {
  return sections.flatMap((section) => {
    const { properties } = z.toJSONSchema(section, { io: "input", unrepresentable: "any" });
    return Object.entries(properties ?? {}).map(([name, setting]) => [name, setting as Setting] as const);
  });
}

/** Returns a list of settings, each with its default, if any. */
function settingsList(settings: readonly (readonly [name: string, Setting])[]): string {
  return settings
    .map(([name, { default: value, description = "" }]) => {
      const text = defaultText(name, value);
      return `- \`${name}\`: ${description}${text === null ? "" : ` Default: ${text}.`}`;
    })
    .join("\n");
}

const UNITS = { Ms: [86_400_000, "d", 3_600_000, "h", 60_000, "min", 1000, "s"], Bytes: [2 ** 20, "MiB"] };

function defaultText(name: string, value: unknown): string | null {
  if (value === undefined || (typeof value === "object" && Object.keys(Object(value)).length === 0))
    return null;
  if (typeof value !== "number") return `\`${JSON.stringify(value)}\``;
  const units = Object.entries(UNITS).find(([ending]) => name.endsWith(ending))?.[1] ?? [];
  for (let index = 0; index < units.length; index += 2) {
    const [size, unit] = [Number(units[index]), units[index + 1]];
    if (value % size === 0) return `${value.toLocaleString("en")} (${value / size} ${unit})`;
  }
  return value.toLocaleString("en");
}

it("has an $id that other schemas can refer to", () => {
  expect(published).toMatchObject({ $id: "urn:colloquy:configuration" });
});

it("describes every setting", () => {
  const found: string[] = [];
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== "object" || node === null) return;
    const { properties } = node as { properties?: Record<string, { description?: string }> };
    for (const [key, part] of Object.entries(properties ?? {})) {
      found.push(`${path}/${key}`);
      expect(part.description ?? "", `${path}/${key}`).not.toBe("");
    }
    for (const [key, part] of Object.entries(node)) walk(part, `${path}/${key}`);
  };
  walk(published, "");
  expect(found.length).toBeGreaterThan(60);
});

const MCP = { url: "http://127.0.0.1:3000/mcp" };
const CHAIN = { name: "Ethereum", rpcURL: "https://x.test" };

describe("the JSON Schema and the loader agree", () => {
  it.each<[string, unknown]>([
    ["nothing", {}],
    ["its own address", { $schema: "./colloquy.schema.json" }],
    ["an App", { apps: { default: { models: ["demo/assistant"], tools: ["calculator", "ask_user"] } } }],
    ["tools by name", { apps: { a: { tools: { calculator: true } } } }],
    [
      "MCP servers",
      { apps: { a: { mcp: { b: MCP, c: { command: "npx", args: ["x"], env: { A: "b" } } } } } },
    ],
    ["a service", { apps: { a: { openapi: { b: { document: "http://x.test", operations: ["c"] } } } } }],
    ["a wallet", { apps: { a: { wallet: { chains: [1] } } }, chains: { 1: CHAIN } }],
    ["a wallet for all chains", { apps: { a: { wallet: true } }, chains: { 1: CHAIN } }],
    [
      "effects and approvals",
      { apps: { a: { effects: { calculator: "read" }, approvals: { calculator: "always" } } } },
    ],
    ["slots", { apps: { a: { secrets: [{ name: "A", description: "b", required: false }] } } }],
    ["limits", { limits: { maxSteps: 1, actionMs: 1 }, retention: { events: 1 } }],
    ["a provider", { providers: { a: { kind: "openai-compatible", baseURL: "http://x.test" } } }],
  ])("on accepting %s", async (_name, content) => {
    expect(await verdicts(content)).toEqual({ loader: true, schema: true });
  });

  it.each<[string, unknown]>([
    ["a list", []],
    ["an unknown setting", { colour: "blue" }],
    ["an App's unknown setting", { apps: { default: { instruction: "x" } } }],
    ["an App of an illegal name", { apps: { "a b": {} } }],
    ["no models", { apps: { default: { models: [] } } }],
    ["a model without provider", { apps: { default: { models: ["llama"] } } }],
    ["an unknown tool", { apps: { a: { tools: ["calculater"] } } }],
    ["a tool that is false", { apps: { a: { tools: { calculator: false } } } }],
    ["an illegal name of a tool", { apps: { a: { approvals: { "a b": "always" } } } }],
    ["an MCP server of no kind", { apps: { a: { mcp: { b: {} } } } }],
    ["an MCP server of two kinds", { apps: { a: { mcp: { b: { ...MCP, command: "x" } } } } }],
    ["an MCP server elsewhere", { apps: { a: { mcp: { b: { url: "ftp://x.test" } } } } }],
    ["a header's illegal name", { apps: { a: { mcp: { b: { ...MCP, headers: { "a b": "c" } } } } } }],
    ["a service without a document", { apps: { a: { openapi: { b: {} } } } }],
    ["a chain without an address", { chains: { 1: { name: "x" } } }],
    ["a chain that is no number", { chains: { one: CHAIN } }],
    ["a wallet on no chain", { apps: { a: { wallet: { chains: [] } } }, chains: { 1: CHAIN } }],
    ["an unknown effect", { apps: { a: { effects: { x: "pure" } } } }],
    ["an unknown approval", { apps: { a: { approvals: { x: true } } } }],
    ["a slot without a description", { apps: { a: { secrets: [{ name: "A" }] } } }],
    ["a slot of an illegal name", { apps: { a: { secrets: [{ name: "A-B", description: "c" }] } } }],
    ["blank instructions", { apps: { a: { instructions: " " } } }],
    ["no steps", { limits: { maxSteps: 0 } }],
    ["half a step", { limits: { maxSteps: 1.5 } }],
    ["a key for a name", { providers: { openai: { apiKeyEnv: "sk-1" } } }],
  ])("on rejecting %s", async (_name, content) => {
    expect(await verdicts(content)).toEqual({ loader: false, schema: false });
  });
});

async function verdicts(content: unknown) {
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(content));
  const { ok } = await loadConfig({ environment: {}, workingDirectory: directory });
  const findIssues = createSchemaCheck(published);
  return { loader: ok, schema: findIssues(content) === null };
}
