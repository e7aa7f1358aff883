// Every configuration example in the documentation must load without problems.

import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "./load-config.ts";
import { formatProblems } from "@colloquy/engine/internal/config/problem";

const ROOT = join(import.meta.dirname, "../../../..");
const ENVIRONMENT = {
  MAPS_KEY: "x",
  DATABASE_URL: "postgres://127.0.0.1/colloquy",
  NATS_URL: "nats://127.0.0.1",
  S3_ACCESS_KEY_ID: "key",
  S3_SECRET_ACCESS_KEY: "secret",
  RPC_KEY: "x",
  TEAM: "x",
  LOCAL_KEY: "x",
  LITELLM_KEY: "x",
  OPENROUTER_API_KEY: "x",
  MISTRAL_API_KEY: "x",
  DEEPSEEK_API_KEY: "x",
  GROQ_API_KEY: "x",
  AZURE_OPENAI_API_KEY: "x",
};

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-documented-"));
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"));
  await writeFile(join(directory, "package.json"), '{"type":"module"}');
  await writeFile(
    join(directory, "weather.mjs"),
    `import { defineToolSource } from "@colloquy/engine";
    import { z } from "zod";
    const settings = z.strictObject({ apiKey: z.string() });
    export default defineToolSource({ name: "weather", version: "1.0.0", settings, create: () => ({ tools: () => [] }) });`,
  );
  const shop = (id: string) => ({ [`/${id}`]: { get: { operationId: id, responses: {} } } });
  const paths = { ...shop("listPets"), ...shop("buyPet") };
  const document = { openapi: "3.1.0", info: { title: "Pets", version: "1" }, paths };
  await writeFile(join(directory, "pet-shop.yaml"), JSON.stringify(document));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function examples(name: string): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const page = await readFile(join(ROOT, name), "utf8");
  return [...page.matchAll(/^```(ts|json)\n(.*?)^```/gms)].map(([, kind = "", text = ""]) => ({
    name: `colloquy.config.${kind}`,
    text,
  }));
}

it.each([
  ["docs/configuration.md", 2],
  ["docs/guides/model-servers.md", 10],
])("loads every example of %s", async (page, atLeast) => {
  const found = await examples(page);
  expect(found.length).toBeGreaterThanOrEqual(atLeast);
  for (const [index, { name, text }] of found.entries()) {
    // Node caches modules by their path.
    const COLLOQUY_CONFIG = join(directory, `${index}-${name}`);
    await writeFile(COLLOQUY_CONFIG, text);
    const environment = { ...ENVIRONMENT, COLLOQUY_CONFIG };
    const loaded = await loadConfig({ environment, workingDirectory: directory });
    expect(loaded.ok ? [] : [text, formatProblems(loaded.problems)]).toEqual([]);
    expect(loaded.warnings).toEqual([]);
  }
});
