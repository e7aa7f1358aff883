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

describe("a command of a plugin", () => {
  const define = (code: string, name = "greet") =>
    writeFile(
      join(directory, "colloquy.config.mjs"),
      `const greet = { kind: "colloquy/command", name: "${name}", version: "1.0.0", description: "greet a person", usage: "<name> [words...]", ${code} };
      export default { plugins: [greet] };`,
    );

  it("gets its arguments and writes to the output", async () => {
    await define('run: async (given, { output }) => output.write(given.join(" ") + "\\n")');
    expect(await run(["greet", "Ada", "and", "Bob"])).toEqual({
      code: 0,
      output: "Ada and Bob\n",
      errors: "",
    });
    const help = await run(["greet", "--help"]);
    expect(help.output).toMatch(
      /^Usage: colloquy greet \[options\] <name> \[words\.\.\.\]\n\ngreet a person/,
    );
  });

  it("exits with 2 for missing arguments, and with 1 and its message if it fails", async () => {
    await define('run() { throw new Error("Nobody is there.") }');
    expect(await run(["greet"])).toMatchObject({
      code: 2,
      errors: expect.stringContaining("missing required argument 'name'"),
    });
    expect(await run(["greet", "Ada"])).toEqual({
      code: 1,
      output: "",
      errors: "Colloquy: Nobody is there.\n",
    });
  });

  it("does not replace a built-in command", async () => {
    await define('run() { throw new Error("Replaced.") }', "check");
    expect(await run(["check"])).toMatchObject({ code: 0 });
  });
});

describe("schema", () => {
  it("prints the JSON Schema with plugin sections, even for an invalid file", async () => {
    await writeConfig({ plugins: ["./plugin.mjs"], apps: { default: { notes: {} } } });
    await writeFile(
      join(directory, "plugin.mjs"),
      `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
      const settings = z.strictObject({ folder: z.string() });
      export default { kind: "colloquy/tool-source", name: "notes", version: "1.0.0", settings, create() {} };`,
    );
    const { code, output } = await run(["schema"]);
    expect(code).toBe(0);
    expect(JSON.parse(output)).toHaveProperty(
      ["properties", "apps", "additionalProperties", "properties", "notes", "required"],
      ["folder"],
    );
  });
});

describe("check", () => {
  it("accepts a valid configuration and writes nothing", async () => {
    expect(await run(["check"])).toEqual({
      code: 0,
      output: "The configuration is valid (there is no colloquy.config.json).\n",
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

  it("rejects approvals for tools that a source does not list, and warns of such effects", async () => {
    const operation = { operationId: "buyPet", responses: { 200: { description: "Bought" } } };
    const document = {
      openapi: "3.1.0",
      info: { title: "Pets", version: "1" },
      servers: [{ url: "http://127.0.0.1:9" }],
      paths: { "/pets": { post: operation } },
    };
    await writeFile(join(directory, "pets.json"), JSON.stringify(document));
    const sources = {
      openapi: { pets: { document: "pets.json" } },
      mcp: { away: { command: join(directory, "none") } },
    };
    const rules = {
      effects: { pets_buy: "idempotent" },
      approvals: { pets_buyPte: "always", away_x: "always" },
    };
    await writeConfig({ apps: { default: { ...sources, ...rules } } });
    const { code, errors } = await run(["check"]);
    expect(code).toBe(2);
    const meant = 'openapi pets lists no tool of this name. Did you mean "pets_buyPet"?';
    expect(errors).toContain(`Warning: App "default", effects.pets_buy: ${meant}\n`);
    expect(errors).toContain(
      `The configuration has one problem.\n  - colloquy.config.json, apps.default.approvals.pets_buyPte: ${meant}\n`,
    );
    expect(JSON.parse((await run(["check", "--json"])).output)).toMatchObject({ ok: false });
    const doctor = await run(["doctor"]);
    expect(doctor.output).toContain(
      `BROKEN   tools           App "default", approvals.pets_buyPte: ${meant}\n`,
    );
    expect(doctor.output).toMatch(
      /it lists its tools \(1\)\.\n {27}pets_buyPet: effect unsafe, approval always\n/,
    );
    expect(doctor.code).toBe(1);
  });

  it("warns of tools beyond the maximum of a model's provider, at start as well", async () => {
    const operations = ["a", "b", "c"].map((name) => [
      `/${name}`,
      { get: { operationId: name, responses: { 200: { description: "Done" } } } },
    ]);
    const document = {
      openapi: "3.1.0",
      info: { title: "Letters", version: "1" },
      servers: [{ url: "http://127.0.0.1:9" }],
      paths: Object.fromEntries(operations) as object,
    };
    await writeFile(join(directory, "letters.json"), JSON.stringify(document));
    await writeConfig({
      providers: { local: { kind: "openai-compatible", baseURL: "http://127.0.0.1:9/v1", maxTools: 4 } },
      apps: { default: { models: ["local/small"], openapi: { letters: { document: "letters.json" } } } },
    });
    const { code, errors } = await run(["check"]);
    expect(code).toBe(0);
    expect(errors).toMatch(/^Warning: App "default", openapi letters: .*letters_c/);
    expect(errors).not.toContain("letters_b");
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
  const openLocalStore = () => Promise.reject(failure);
  const { code, errors } = await run(["import", "sessions.jsonl"], { openLocalStore });
  const advice = "See that its disk works and has space, then run the command again.";
  expect({ code, errors }).toEqual({
    code: 1,
    errors: `Colloquy: The database cannot be used: database or disk is full. ${advice}\n`,
  });
});
