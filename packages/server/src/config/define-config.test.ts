import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { defineConfig, type ToolContext } from "@colloquy/server/config";
import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { BUNDLED_PLUGINS } from "./bundled-plugins.ts";
import type { ConfigFile } from "./file-schema.ts";

const MODULES = join(import.meta.dirname, "../../../../node_modules");

it("accepts a configuration with all settings in both the types and the schema", async () => {
  const config = defineConfig({
    apps: {
      default: { models: ["demo/assistant"], tools: ["current_time"] },
      trips: {
        tools: {
          calculator: true,
          weather: tool({
            description: "Tells the weather",
            inputSchema: z.object({ city: z.string() }),
            execute: async ({ city }, { context }: { context: ToolContext }) => {
              context.progress(city);
              return context.secret("KEY");
            },
          }),
          plain: tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n * 2 }),
          // Without type annotations.
          told: tool({
            inputSchema: z.object({ n: z.number() }),
            execute: ({ n }, { context }) => {
              context.progress(n);
              return context.secret("KEY");
            },
          }),
        },
        mcp: { a: { url: "https://x.test/mcp", headers: { A: "b" } }, b: { command: "npx", args: ["x"] } },
        openapi: { pets: { document: "https://x.test/openapi.json", operations: ["list"] } },
        wallet: { chains: [1] },
        approvals: {
          weather: (input) => input !== null,
          plain: "always",
          told: (input: { n: number }, turn) => input.n > 2 && turn.app === "trips",
        },
        effects: { weather: "read" },
        secrets: [{ name: "KEY", description: "A key" }],
        requireKey: "all",
      },
    },
    chains: { 1: { name: "Ethereum", rpcURL: "https://x.test" } },
    limits: { actionMs: 1000 },
  });
  const { configFile } = await import("./file-schema.ts");
  const schema = configFile(BUNDLED_PLUGINS);
  // The schema's output must match the types, and the types must match the schema as far as types can express it.
  const { backend: _backend, transport: _transport, ...parsed }: ConfigFile = schema.parse(config);
  expect(Object.keys(defineConfig(parsed).apps ?? {})).toEqual(["default", "trips"]);
});

it("accepts constants, whose objects and lists are read-only", () => {
  const models = ["demo/assistant"] as const;
  expect(defineConfig({ apps: { a: { models } } } as const).apps?.["a"]?.models).toBe(models);
});

it("can be imported by a configuration file in a clone that Node runs directly", async () => {
  const directory = await mkdtemp(join(tmpdir(), "colloquy-define-"));
  try {
    await symlink(MODULES, join(directory, "node_modules"));
    await writeFile(join(directory, "package.json"), '{"type":"module"}');
    await writeFile(
      join(directory, "colloquy.config.ts"),
      `import { defineConfig, type ToolContext } from "@colloquy/server/config";
       const twice = (context: ToolContext): string => context.callId;
       console.log(JSON.stringify(defineConfig({ apps: { default: { instructions: typeof twice } } })));`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, [join(directory, "colloquy.config.ts")]);
    expect(JSON.parse(stdout)).toEqual({ apps: { default: { instructions: "function" } } });
  } finally {
    await rm(directory, { recursive: true });
  }
});
