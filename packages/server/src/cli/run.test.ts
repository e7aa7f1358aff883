import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../config/load-config.ts";
import type { CommandParts } from "./command.ts";
import { recordedRun } from "./testing/recorded-run.ts";

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-cli-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

const run = (parameters: readonly string[], more: Partial<CommandParts> = {}) =>
  recordedRun(parameters, {
    loadConfig: () => loadConfig({ environment: { MY_KEY: "sk-env" }, workingDirectory: directory }),
    ...more,
  });

async function writeConfig(content: unknown): Promise<void> {
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(content));
}

describe("the command line", () => {
  it("serves and returns the exit code of serve", async () => {
    const parameters = ["serve"];
    expect(await run(parameters, { serve: () => Promise.resolve(0) })).toEqual({
      code: 0,
      output: "",
      errors: "",
    });
    expect(await run(parameters, { serve: () => Promise.resolve(2) })).toMatchObject({ code: 2 });
  });

  it("prints help without arguments", async () => {
    expect(await run([])).toEqual(await run(["--help"]));
  });

  it("prints its version", async () => {
    expect(await run(["--version"])).toEqual({ code: 0, output: "1.2.3\n", errors: "" });
  });

  it("prints help with examples for itself and each command", async () => {
    const { code, output, errors } = await run(["--help"]);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    const commands = [...output.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => name);
    expect(commands).toEqual(expect.arrayContaining(["serve", "check"]));
    expect(output).toMatch(/Examples:\n {2}colloquy /);
    for (const name of commands.filter((command) => !["help", "colloquy"].includes(command))) {
      const help = await run([name, "--help"]);
      expect(help).toMatchObject({ code: 0, errors: "" });
      expect(help.output).toMatch(new RegExp(`^Usage: colloquy ${name} `));
      expect(help.output).toMatch(/\nExamples?:\n {2}/);
    }
  });

  it.each([
    [["chek"], /unknown command 'chek'\n\(Did you mean check\?\)/],
    [["check", "--jsn"], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
    [["check", "twice"], /too many arguments/],
    [["--loud"], /unknown option '--loud'/],
  ])("exits with 2, a reason and a hint for %j", async (parameters, errors) => {
    const result = await run(parameters);
    expect(result).toMatchObject({ code: 2, output: "" });
    expect(result.errors).toMatch(errors);
    expect(result.errors).toMatch(/^Colloquy: [\s\S]*Run colloquy --help/);
  });

  it("exits with 1 and one sentence if a command fails", async () => {
    const serve = () => Promise.reject(new Error("The disk is gone."));
    expect(await run(["serve"], { serve })).toEqual({
      code: 1,
      output: "",
      errors: "Colloquy: The disk is gone.\n",
    });
  });
});

describe("check", () => {
  it("accepts a valid configuration and writes nothing", async () => {
    expect(await run(["check"])).toEqual({
      code: 0,
      output: "The configuration is valid (there is no file).\n",
      errors: "",
    });
    await writeConfig({ limits: { maxSteps: 3 } });
    expect((await run(["check"])).output).toBe("The configuration is valid: colloquy.config.json.\n");
    expect(await readdir(directory)).toEqual(["colloquy.config.json"]);
  });

  it("prints every problem with its place and exits with 2", async () => {
    await writeConfig({ limits: { maxSteps: 0 }, colour: "blue" });
    const { code, output, errors } = await run(["check"]);
    expect({ code, output }).toEqual({ code: 2, output: "" });
    expect(errors).toContain("the configuration has 2 problems");
    expect(errors).toContain("  - colloquy.config.json, limits.maxSteps: must be at least 1.\n");
    expect(errors).toContain("  - colloquy.config.json, colour: is not a known setting.");
  });

  it("warns of servers whose tools cannot be listed", async () => {
    await writeConfig({ apps: { default: { mcp: { weather: { command: join(directory, "none") } } } } });
    const { code, errors } = await run(["check"]);
    expect(code).toBe(0);
    expect(errors).toMatch(/^Warning: App "default", mcp weather: .+/);
    const { output } = await run(["check", "--json"]);
    expect(JSON.parse(output)).toMatchObject({
      ok: true,
      warnings: [expect.stringContaining("mcp weather")],
    });
  });

  it("prints one document with --json, with or without problems", async () => {
    await writeFile(join(directory, "colloquy.config.js"), "export default {};");
    await writeConfig({});
    const sound = await run(["check", "--json"]);
    expect(sound).toMatchObject({ code: 0, errors: "" });
    expect(JSON.parse(sound.output)).toEqual({
      ok: true,
      problems: [],
      warnings: ["colloquy.config.json is not read, because there is also colloquy.config.js."],
    });
    await rm(join(directory, "colloquy.config.js"));
    await writeConfig({ limits: { maxSteps: 0 } });
    const broken = await run(["check", "--json"]);
    expect(broken).toMatchObject({ code: 2, errors: "" });
    expect(JSON.parse(broken.output)).toEqual({
      ok: false,
      problems: [
        { source: "colloquy.config.json", location: "limits.maxSteps", message: "must be at least 1." },
      ],
      warnings: [],
    });
  });

  it("never prints a key", async () => {
    const provider = {
      kind: "openai-compatible",
      baseURL: "http://x.test",
      headers: { A: "sk-header\u0001" },
    };
    await writeConfig({
      providers: {
        a: { ...provider, apiKeyEnv: "sk-in-the-wrong-place" },
        b: { ...provider, apiKeyEnv: "MY_KEY" },
      },
    });
    for (const parameters of [["check"], ["check", "--json"]]) {
      const { code, output, errors } = await run(parameters);
      expect(code).toBe(2);
      expect(output + errors).toContain("providers.a");
      expect(output + errors).not.toContain("sk-");
    }
  });
});

it("does not send a key that cannot be in a header", async () => {
  const environment = { COLLOQUY_ADMIN_KEY: "an-admin-key_of/24+characters\nand-a-second-line" };
  const { code, errors } = await run(["sessions", "list", "--url", "http://127.0.0.1:9"], { environment });
  expect(code).toBe(2);
  expect(errors).toMatch(/^Colloquy: COLLOQUY_ADMIN_KEY must be one line of ASCII [^\n]+\n$/);
});

it("gives advice if SQLite fails during a command", async () => {
  const failure = Object.assign(new Error("database or disk is full"), { code: "ERR_SQLITE_ERROR" });
  const openAdministration = () => Promise.reject(failure);
  const { code, errors } = await run(["import", "sessions.jsonl"], { openAdministration });
  const advice = "See that its disk works and has space, then run the command again.";
  expect({ code, errors }).toEqual({
    code: 1,
    errors: `Colloquy: The database cannot be used: database or disk is full. ${advice}\n`,
  });
});
