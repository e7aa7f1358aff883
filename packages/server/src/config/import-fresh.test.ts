// Runs in a child process, because the test runner replaces Node's module loader.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
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
    process.stdin.on("data", async (reading) => {
      const input = { environment: {}, workingDirectory: ${JSON.stringify(directory)}, reading: Number(reading) };
      console.log(JSON.stringify(await loadConfig(input)));
    });`;
  child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
});

afterEach(async () => {
  child.kill();
  await rm(directory, { recursive: true });
});

async function instructions(reading: number): Promise<string | null | undefined> {
  child.stdin.write(String(reading));
  const [answer] = (await once(child.stdout, "data")) as [Buffer];
  const loaded = JSON.parse(String(answer)) as LoadedConfig;
  if (!loaded.ok)
    throw new Error(loaded.problems.map(({ location, message }) => `${location}: ${message}`).join());
  return loaded.config.apps["default"]?.instructions;
}

async function write(name: string, text: string): Promise<void> {
  await writeFile(join(directory, name), text);
}

describe("a reloaded module", () => {
  it("picks up edits in itself and in all files that it imports by a relative path", async () => {
    await mkdir(join(directory, "parts"));
    await write(
      "colloquy.config.ts",
      'import { said } from "./parts/a.ts"; export default { apps: { default: { instructions: `1 ${said as string}` } } };',
    );
    await write(
      "parts/a.ts",
      'import data from "./b.json" with { type: "json" }; export const said: string = `2 ${data.said}`;',
    );
    await write("parts/b.json", '{"said":"3"}');
    expect(await instructions(0)).toBe("1 2 3");
    await write("parts/b.json", '{"said":"three"}');
    expect(await instructions(1)).toBe("1 2 three");
    await write("parts/a.ts", 'export const said: string = "two";');
    expect(await instructions(2)).toBe("1 two");
    await write("colloquy.config.ts", 'export default { apps: { default: { instructions: "one" } } };');
    expect(await instructions(3)).toBe("one");
  });

  it("keeps the same instances of packages, and with them their state", async () => {
    await mkdir(join(directory, "node_modules/kept"), { recursive: true });
    await write("node_modules/kept/package.json", '{"name":"kept","type":"module","main":"index.js"}');
    await write("node_modules/kept/index.js", 'import { said } from "./said.js"; export { said };');
    await write("node_modules/kept/said.js", "export const said = String(Math.random());");
    await write(
      "colloquy.config.js",
      'import { said } from "kept"; export default { apps: { default: { instructions: said } } };',
    );
    expect(await instructions(2)).toBe(await instructions(1));
  });

  it("reports a new error with its line", async () => {
    await write("colloquy.config.js", "export default {};");
    expect(await instructions(0)).toBeNull();
    await write("colloquy.config.js", "const x = 1;\nthrow new Error('no ' + x);");
    await expect(instructions(1)).rejects.toThrow("line 2, column 7: Error: no 1.");
    await write("colloquy.config.js", "export default {};");
    expect(await instructions(2)).toBeNull();
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
    const error: unknown = await instructions(1).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toMatch(/sk_live|\n/);
  });
});

describe("a module in a CommonJS project", () => {
  beforeEach(() => write("package.json", '{"type":"commonjs"}'));

  it.each(["mts", "mjs"])("is read if its name ends in .%s", async (extension) => {
    const text = 'export default { apps: { default: { instructions: "Hi" } } };';
    await write(`colloquy.config.${extension}`, text);
    expect(await instructions(0)).toBe("Hi");
  });

  it.each(["ts", "js"])("is rejected with a name that works if its name ends in .%s", async (extension) => {
    await write(`colloquy.config.${extension}`, "export default {};");
    await expect(instructions(0)).rejects.toThrow(`Rename the file to colloquy.config.m${extension}`);
  });
});

describe("a module in a project without a type", () => {
  beforeEach(() => write("package.json", "{}"));

  it("is rejected if it exports nothing, which Node reads as CommonJS", async () => {
    await write("colloquy.config.ts", "const config = { apps: { shop: {} } };");
    await expect(instructions(0)).rejects.toThrow("has no default export");
  });

  it("may use module.exports", async () => {
    await write("colloquy.config.js", 'module.exports = { apps: { default: { instructions: "Hi" } } };');
    expect(await instructions(0)).toBe("Hi");
  });
});
