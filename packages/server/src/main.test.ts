// The process as an operator sees it: arguments, exit codes, signals, what it prints.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BARE_ENVIRONMENT } from "../test/bare-environment.ts";

const MAIN = fileURLToPath(import.meta.resolve("./main.ts"));
const SESSION = "3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6";

let directory = "";
let children: ChildProcessWithoutNullStreams[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-main-"));
});

afterEach(async () => {
  const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  await Promise.all(running.map((child) => (child.kill("SIGKILL"), once(child, "exit"))));
  children = [];
  await rm(directory, { recursive: true });
});

const WRONG_PLACEHOLDER = {
  apps: { default: { mcp: { maps: { url: "https://x.test", headers: { A: "{{env.toString}}" } } } } },
};

interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: () => string;
  readonly errors: () => string;
  /** Resolves with the match when the output has one. */
  find(pattern: RegExp): Promise<RegExpExecArray>;
  exited(): Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

function start(
  environment: Readonly<Record<string, string>> = {},
  ...parameters: readonly string[]
): Started {
  const child = spawn(process.execPath, [MAIN, ...parameters], {
    cwd: directory,
    env: { ...BARE_ENVIRONMENT, PORT: "0", ...environment },
  });
  children.push(child);
  let output = "";
  let errors = "";
  child.stdout.on("data", (data) => (output += String(data)));
  child.stderr.on("data", (data) => (errors += String(data)));
  const exit = once(child, "close") as Promise<[number | null, string | null]>;
  return {
    child,
    output: () => output,
    errors: () => errors,
    async find(pattern) {
      for (;;) {
        const found = pattern.exec(output);
        if (found !== null) return found;
        await Promise.race([
          once(child.stdout, "data"),
          exit.then(() =>
            Promise.reject(new Error(`It ended without ${String(pattern)}:\n${output}${errors}`)),
          ),
        ]);
      }
    },
    exited: () => exit.then(([code, signal]) => ({ code, signal })),
  };
}

async function startListening(environment?: Readonly<Record<string, string>>) {
  const started = start(environment);
  const [, address = ""] = await started.find(/"address":"([^"]+)"/);
  return { ...started, address };
}

describe("starting", () => {
  it("ends in a line that says where the service listens, whatever the log level", async () => {
    const { address, find } = await startListening({ COLLOQUY_LOG_LEVEL: "silent" });
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await find(/"msg":"listening"/);
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
  });

  it("takes variables from .env, behind those that are set", async () => {
    await writeFile(join(directory, ".env"), "PORT=1\nCOLLOQUY_DATA_DIR=elsewhere\nCOLLOQUY_TYPO=1\n");
    const { output } = await startListening();
    expect(output()).toContain("COLLOQUY_TYPO is set, but nothing reads it.");
  });

  it("leaves out a .env that is no file, and says so", async () => {
    await mkdir(join(directory, ".env"));
    const { errors, exited } = start({}, "check");
    expect(await exited()).toEqual({ code: 0, signal: null });
    expect(errors()).toMatch(
      /^Colloquy: \S+\/\.env cannot be used: it is a directory and no file\. It is left out: [^\n]+\n$/,
    );
  });

  it("with a wrong configuration tells every problem without a stack, and exits with 2", async () => {
    await writeFile(join(directory, "colloquy.config.json"), '{"limits":{"maxSteps":"many"}}');
    const { exited, errors, output } = start({ PORT: "x", COLLOQUY_NATS_URL: "nats://x" });
    expect(await exited()).toEqual({ code: 2, signal: null });
    expect(errors().split("\n")).toEqual([
      "Colloquy cannot start: the configuration has 3 problems.",
      '  - PORT: must be a number from 0 to 65535 (0 takes a free port), not "x".',
      "  - COLLOQUY_NATS_URL: is of use only between nodes on one database, and without COLLOQUY_DATABASE_URL there is one node, with its data in SQLite. Set COLLOQUY_DATABASE_URL too, or unset this variable.",
      "  - colloquy.config.json, limits.maxSteps: must be a number, not text.",
      "",
    ]);
    expect(output()).toBe("");
  });

  it.each(["check", "serve"])(
    "with OpenAPI documents that cannot be used tells every problem with its place, and exits with 2: %s",
    async (command) => {
      const paths = { "/pets": { get: { operationId: "pets" } } };
      const sound = { openapi: "3.1.0", servers: [{ url: "http://127.0.0.1:9" }], paths };
      await writeFile(join(directory, "broken.yaml"), "openapi: [");
      await writeFile(join(directory, "sound.json"), JSON.stringify(sound));
      await writeFile(join(directory, "nowhere.json"), JSON.stringify({ ...sound, servers: [] }));
      const openapi = {
        bad: { document: "broken.yaml" },
        shop: { document: "sound.json", operations: ["pets", "no"] },
        lost: { document: "nowhere.json" },
      };
      const apps = { default: { openapi, colour: "blue" } };
      await writeFile(join(directory, "colloquy.config.json"), JSON.stringify({ apps }));
      const { exited, errors } = start({}, command);
      expect(await exited()).toEqual({ code: 2, signal: null });
      expect(errors()).toContain("the configuration has 4 problems");
      expect(errors()).toMatch(
        /openapi\.bad\.document: .*broken\.yaml: It cannot be understood: .*\(\d+:\d+\)/,
      );
      expect(errors()).toMatch(
        /apps\.default\.openapi\.shop\.operations\[1\]: .* no operation "no"\. It has pets\./,
      );
      expect(errors()).toMatch(
        /apps\.default\.openapi\.lost\.baseURL: It does not say where its server is\./,
      );
      expect(errors()).toContain("apps.default.colour");
    },
  );

  it("on a port that is taken says so and exits with 1", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { exited, errors } = start({ PORT: String(port) });
    expect(await exited()).toEqual({ code: 1, signal: null });
    expect(errors()).toBe(
      `Colloquy cannot start: 127.0.0.1:${port} is taken by another program. Stop that one, or choose another port with PORT.\n`,
    );
    taken.close();
  });

  it("on a data directory that another server uses, or that cannot be made, says so and exits with 1", async () => {
    const first = await startListening();
    const second = start();
    expect(await second.exited()).toEqual({ code: 1, signal: null });
    expect(second.errors()).toMatch(/^Colloquy cannot start: .*in use by another Colloquy server.*\n$/);
    expect(second.errors()).toContain(`(process ${first.child.pid})`);

    await writeFile(join(directory, "file"), "");
    const third = start({ COLLOQUY_DATA_DIR: "file/data" });
    expect(await third.exited()).toEqual({ code: 1, signal: null });
    expect(third.errors()).toMatch(/^Colloquy cannot start: .*file\/data.*\n$/);
  });

  const expectRefusal = async (place: string, command: string, told: RegExp): Promise<void> => {
    const { exited, errors, output } = start({ COLLOQUY_DATA_DIR: place }, ...command.split(" "));
    expect(await exited()).toEqual({ code: 1, signal: null });
    expect(errors()).toMatch(told);
    expect(errors()).toMatch(/^Colloquy.* COLLOQUY_DATA_DIR\.\n$/);
    expect(output()).toBe("");
  };

  it.skipIf(!existsSync("/proc/self"))("does not try for ever to make a data directory in /proc", () =>
    expectRefusal("/proc/x/y", "serve", /The data directory \/proc\/x\/y cannot be used: there is no such/),
  );

  it.each(["serve", "keys list"])(
    "on a data directory that cannot be used says what is wrong and what to do, and exits with 1: %s",
    async (command) => {
      await writeFile(join(directory, "file"), "");
      await mkdir(join(directory, "damaged"));
      await writeFile(join(directory, "damaged", "colloquy.db"), "This is no database.".repeat(100));
      await mkdir(join(directory, "folder", "colloquy.db"), { recursive: true });
      const places: ReadonlyArray<readonly [string, RegExp]> = [
        ["file", /The data directory \S*file cannot be used: it, or something on the way to it, is a file/],
        ["file/data", /The data directory \S*file\/data cannot be used: it, or something on the way to it/],
        ["damaged", /The database \S*damaged\/colloquy\.db cannot be used: file is not a database\. Restore/],
        ["folder", /The database \S*folder\/colloquy\.db cannot be used: unable to open database file\. See/],
      ];
      await Promise.all(places.map(([place, told]) => expectRefusal(place, command, told)));
    },
  );

  it.each(["serve", "keys list", "migrate --from sqlite:. --to postgres://127.0.0.1:1/x"])(
    "on a database that cannot be reached says what to do, and exits with 1: %s",
    async (command) => {
      await writeFile(join(directory, "colloquy.db"), "");
      const environment = { COLLOQUY_DATABASE_URL: "postgres://127.0.0.1:1/x" };
      const { exited, errors, output } = start(environment, ...command.split(" "));
      expect(await exited()).toEqual({ code: 1, signal: null });
      expect(errors()).toMatch(
        /^Colloquy[^\n]*: The database cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1\. See that it runs, that COLLOQUY_DATABASE_URL is right[^\n]*\n$/,
      );
      expect(output()).toBe("");
    },
  );

  it.each([
    ["--version", 0, /^\d+\.\d+\.\d+\n$/, /^$/],
    ["--help", 0, /Usage: colloquy/, /^$/],
    ["keyz", 2, /^$/, /^Colloquy: unknown command 'keyz'/],
    ["serve --port", 2, /^$/, /^Colloquy: unknown option '--port'/],
  ])("with the arguments %s exits with %i", async (parameters, code, output, errors) => {
    const started = start({}, ...parameters.split(" "));
    expect(await started.exited()).toEqual({ code, signal: null });
    expect(started.output()).toMatch(output);
    expect(started.errors()).toMatch(errors);
  });
});

describe("a configuration that holds a timer", () => {
  it.each([
    ["export default {};", "check", 0],
    ["export default { colour: 1 };", "check --json", 2],
    ["export default { colour: 1 };", "serve", 2],
    ["export default { colour: 1 };", "", 2],
  ])("keeps no process that has nothing to serve: %s %s", async (text, parameters, code) => {
    await writeFile(join(directory, "colloquy.config.mjs"), `setInterval(() => {}, 1_000); ${text}`);
    const given = parameters.split(" ").filter((parameter) => parameter !== "");
    const { exited, output, errors } = start({ COLLOQUY_CONFIG: "colloquy.config.mjs" }, ...given);
    expect(await exited()).toEqual({ code, signal: null });
    expect(output() + errors()).toMatch(code === 0 ? /is in order/ : /colour/);
  });
});

describe("a configuration that ends the process", () => {
  it.each(["check", "check --json", "serve"])("is told, and the exit code is 2: %s", async (parameters) => {
    await writeFile(join(directory, "colloquy.config.js"), "process.exit(0);");
    const { exited, output, errors } = start({}, ...parameters.split(" "));
    expect(await exited()).toEqual({ code: 2, signal: null });
    expect(errors()).toMatch(
      /^Colloquy: The configuration file ended the process while it was read\. [^\n]+\n$/,
    );
    expect(output()).toBe("");
  });

  it("is not blamed for a stop while it is read again", async () => {
    const file = join(directory, "colloquy.config.mjs");
    await writeFile(file, "export default {};");
    const { child, errors, exited, find } = await startListening({ COLLOQUY_CONFIG: file });
    await writeFile(file, 'console.log("is read"); await new Promise(() => {}); export default {};');
    child.kill("SIGHUP");
    await find(/is read/);
    child.kill("SIGTERM");
    expect(await exited()).toEqual({ code: 0, signal: null });
    expect(errors()).toBe("");
  });
});

describe("SIGHUP", () => {
  const configure = (apps: unknown, more: object = {}) =>
    writeFile(join(directory, "colloquy.config.json"), JSON.stringify({ apps, ...more }));
  const local = { providers: { a: { kind: "openai-compatible", baseURL: "http://127.0.0.1:9/v1" } } };

  it("has the file read again, and a stream that is open stays open", async () => {
    await configure({ default: { models: ["demo/assistant"] } });
    const { address, child, find } = await startListening();
    const headers = { "X-Session-Id": SESSION, Accept: "text/event-stream" };
    const stream = await fetch(`${address}/api/updates?include=messages`, { headers });
    const models = async (): Promise<unknown> => (await fetch(`${address}/api/control/models`)).json();
    expect(await models()).toEqual(["demo/assistant"]);
    await configure(
      { default: { models: ["demo/assistant", "a/b"] }, shop: {} },
      { ...local, limits: { maxSteps: 3 } },
    );
    child.kill("SIGHUP");
    await find(/"apps":\["default","shop"\],"msg":"the configuration was taken over"/);
    await find(/"msg":"limits.maxSteps has changed, which takes a restart/);
    expect(await models()).toEqual(["demo/assistant", "a/b"]);
    await fetch(`${address}/api/chat?message=hello`, {
      method: "POST",
      headers: { "X-Session-Id": SESSION },
    });
    let text = "";
    for await (const part of stream.body ?? []) {
      text += Buffer.from(part).toString();
      if (text.includes("message_completed")) break;
    }
    expect(text).toContain("hello");
  });

  it("leaves the old configuration in force when the new one is wrong, and says every problem", async () => {
    await configure({ default: { instructions: "one" } });
    const { address, child, find, output } = await startListening();
    await configure({ default: { models: ["gone/x"], colour: "blue" } });
    child.kill("SIGHUP");
    await find(/"problems":2,"msg":"the configuration was not taken over: the old one stays in force"/);
    expect(output()).toContain('"place":"apps.default.colour"');
    expect(output()).toContain('"place":"apps.default.models[0]"');
    expect(await (await fetch(`${address}/api/control/models`)).json()).toEqual(["demo/assistant"]);
    await configure({ default: {}, shop: {} });
    child.kill("SIGHUP");
    await find(/"msg":"the configuration was taken over"/);
  });
});

describe("SIGHUP when the file has gone", () => {
  it("leaves the old configuration in force, and the next file is read", async () => {
    const file = join(directory, "colloquy.config.json");
    await writeFile(file, JSON.stringify({ apps: { default: {}, shop: {} } }));
    const { child, find } = await startListening();
    await rm(file);
    child.kill("SIGHUP");
    await find(/"source":"colloquy.config.json","place":"","msg":"is not there any more/);
    await find(/"msg":"the configuration was not taken over: the old one stays in force"/);
    await writeFile(file, JSON.stringify({ apps: { default: {}, books: {} } }));
    child.kill("SIGHUP");
    const [taken] = await find(/"apps":\["default","books"\],"msg":"the configuration was taken over"/);
    expect(taken).toContain("books");
  });
});

describe("SIGHUP with a file that cannot be read", () => {
  it.each([
    ["never comes", "await new Promise(() => {}); export default {};", "was not read within 15 s"],
    ["exports what never comes", "export default new Promise(() => {});", "was not read within 15 s"],
    ["names no variable", `export default ${JSON.stringify(WRONG_PLACEHOLDER)};`, "toString is not set"],
    [
      "throws nothing that can be shown",
      "throw { toString() { throw 1; } };",
      "threw something that is no Error",
    ],
  ])("leaves the old configuration in force, and the next one is read: it %s", async (_case, text, told) => {
    const file = join(directory, "colloquy.config.mjs");
    await writeFile(file, "export default {};");
    // For the file that never comes the time is over at once.
    const plant = `let readings = 0;
      process.on("SIGHUP", () => (readings += 1));
      const isOver = (ms) => ms === 15_000 && readings === 1 && ${text.includes("new Promise")};
      const wait = setTimeout;
      globalThis.setTimeout = (run, ms) => wait(run, isOver(ms) ? 0 : ms);`;
    const { address, child, find } = await startListening({
      COLLOQUY_CONFIG: file,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(plant)}`,
    });
    await writeFile(file, text);
    child.kill("SIGHUP");
    await find(new RegExp(`"msg":"[^\n]*${told}`));
    await find(/"msg":"the configuration was not taken over: the old one stays in force"/);
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
    await writeFile(file, "export default { apps: { default: {}, shop: {} } };");
    child.kill("SIGHUP");
    await find(/"apps":\["default","shop"\],"msg":"the configuration was taken over"/);
  });
});

describe("a defect", () => {
  it.each([
    ["thrown", 'throw new Error("planted")'],
    ["rejected", 'void Promise.reject(new Error("planted"))'],
  ])("that is %s ends the process with 1 and a line that says why", async (_how, defect) => {
    const plant = `data:text/javascript,${encodeURIComponent(`process.on("SIGUSR2", () => { ${defect}; });`)}`;
    const { child, exited, find } = await startListening({ NODE_OPTIONS: `--import=${plant}` });
    child.kill("SIGUSR2");
    expect(await exited()).toEqual({ code: 1, signal: null });
    const [line] = await find(/.*"level":"fatal".*/);
    expect(JSON.parse(line)).toMatchObject({ err: { message: "planted" } });
  });
});

describe("stopping", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("on %s ends in order and exits with 0", async (signal) => {
    const { child, exited, find, errors } = await startListening();
    child.kill(signal);
    expect(await exited()).toEqual({ code: 0, signal: null });
    await find(/"msg":"stopped"/);
    expect(errors()).toBe("");
  });

  it("on two signals at once, as under npm, ends in order all the same", async () => {
    const { child, exited, find } = await startListening();
    // Of two that are the same, the system may deliver one.
    child.kill("SIGINT");
    child.kill("SIGTERM");
    expect(await exited()).toEqual({ code: 0, signal: null });
    await find(/"msg":"stopped"/);
  });

  it("on a second signal does not wait for the turns that run", async () => {
    const { address, child, exited, find } = await startListening();
    const chat = await fetch(`${address}/api/chat?message=count%20to%2010000`, {
      method: "POST",
      headers: { "X-Session-Id": SESSION },
    });
    expect(chat.status).toBe(200);
    child.kill("SIGTERM");
    await find(/"msg":"stopping"/);
    const again = setInterval(() => child.kill("SIGTERM"), 50);
    expect(await exited()).toEqual({ code: 143, signal: null });
    clearInterval(again);
  });
});
