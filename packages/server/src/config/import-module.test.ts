// Runs in a child process, because the test runner replaces Node's module loader.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LoadedConfig } from "./load-config.ts";

const LOADER = import.meta.resolve("./load-config.ts");

let directory = "";
let child: ChildProcessWithoutNullStreams;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-fresh-"));
  await writeFile(join(directory, "package.json"), '{"type":"module"}');
  const script = `
    const { loadConfig } = await import(${JSON.stringify(LOADER)});
    process.stdin.on("data", async () => {
      const input = { environment: {}, workingDirectory: ${JSON.stringify(directory)} };
      console.log(JSON.stringify(await loadConfig(input)));
    });`;
  child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
});

afterEach(async () => {
  child.kill();
  await rm(directory, { recursive: true });
});

/** Loads the configuration in the process. */
async function instructions(): Promise<string | null | undefined> {
  child.stdin.write("load");
  const [answer] = (await once(child.stdout, "data")) as [Buffer];
  const loaded = JSON.parse(String(answer)) as LoadedConfig;
  if (!loaded.ok)
    throw new Error(loaded.problems.map(({ location, message }) => `${location}: ${message}`).join());
  return loaded.config.apps["default"]?.instructions;
}

async function write(name: string, text: string): Promise<void> {
  await writeFile(join(directory, name), text);
}

describe("a module", () => {
  it("reports an error with its line", async () => {
    await write("colloquy.config.js", "const x = 1;\nthrow new Error('no ' + x);");
    await expect(instructions()).rejects.toThrow("line 2, column 7: Error: no 1.");
  });

  it.each([
    ["export default { key: sk_live_1 };", "ReferenceError: a name in it is not defined."],
    ["export default { key: 1 sk_live_1 };", "SyntaxError: "],
    ["enum Key { sk_live_1 }", "SyntaxError: "],
    ["export default JSON.parse('sk_live_1 x');", "SyntaxError: Unexpected token … is not valid JSON."],
    ["export default 'sk_live_1'();", "TypeError: something in it is not a function."],
    ["throw 'sk_live_1';", "threw a value that is not an Error while loading."],
  ])("does not quote source text, which may contain a key: %s", async (text, message) => {
    await write("colloquy.config.ts", text);
    const error: unknown = await instructions().catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toMatch(/sk_live|\n/);
  });
});

describe("a module in a CommonJS project", () => {
  beforeEach(() => write("package.json", '{"type":"commonjs"}'));

  it.each(["mts", "mjs"])("is read if its name ends in .%s", async (extension) => {
    const text = 'export default { apps: { default: { instructions: "Hi" } } };';
    await write(`colloquy.config.${extension}`, text);
    expect(await instructions()).toBe("Hi");
  });

  it.each(["ts", "js"])("is rejected with a name that works if its name ends in .%s", async (extension) => {
    await write(`colloquy.config.${extension}`, "export default {};");
    await expect(instructions()).rejects.toThrow(`Rename the file to colloquy.config.m${extension}`);
  });

  it("is rejected as a plugin in the same way, without problems that follow from it", async () => {
    await write("weather.ts", "export default {};");
    const apps = { default: { weather: {}, approvals: { weather_forecast: "never" } } };
    await write("colloquy.config.json", JSON.stringify({ plugins: ["./weather.ts"], apps }));
    await expect(instructions()).rejects.toThrow(
      /^plugins\[0\]: The plugin "\.\/weather\.ts" is read as CommonJS, [^:]*: "commonjs"\. Rename the file to weather\.mts, or set "type": "module"\.$/,
    );
  });
});

describe("a module in a project without a type", () => {
  beforeEach(() => write("package.json", "{}"));

  it("is rejected if it exports nothing, which Node reads as CommonJS", async () => {
    await write("colloquy.config.ts", "const config = { apps: { shop: {} } };");
    await expect(instructions()).rejects.toThrow("has no default export");
  });

  it("may use module.exports", async () => {
    await write("colloquy.config.js", 'module.exports = { apps: { default: { instructions: "Hi" } } };');
    expect(await instructions()).toBe("Hi");
  });
});
