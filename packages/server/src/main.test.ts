// The process as an operator sees it: arguments, exit codes, signals and output.

import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endProcess, listening, type Started, startIn, startWithFiles } from "../test/watched-process.ts";
import { openLocalStore } from "./wiring/local-store.ts";
import { recordedRun } from "./cli/testing/recorded-run.ts";
import { loadConfig } from "./config/load-config.ts";
import { buildServer } from "./wiring/server.ts";
import { explainStartFailure } from "./wiring/start-messages.ts";

const SESSION = "3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6";

let directory = "";
let programs: Started[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-main-"));
});

afterEach(async () => {
  await Promise.all(programs.map(endProcess));
  programs = [];
  await rm(directory, { recursive: true });
});

function start(
  environment: Readonly<Record<string, string>> = {},
  ...parameters: readonly string[]
): Started {
  const started = startIn(directory, environment, ...parameters);
  programs.push(started);
  return started;
}

function startListening(environment?: Readonly<Record<string, string>>) {
  return listening(start(environment));
}

/** Writes a configuration with a timer, which must not keep a command alive. */
function configureWithTimer(config: object): Promise<void> {
  const text = `setInterval(() => {}, 1_000); export default ${JSON.stringify(config)};`;
  return writeFile(join(directory, "colloquy.config.js"), text);
}

describe("starting", () => {
  it("prints the address at any log level, and locks its data", async () => {
    const { address, child, find } = await startListening({ COLLOQUY_LOG_LEVEL: "silent" });
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await find(/"msg":"listening"/);
    expect((await fetch(`${address}/healthz`)).status).toBe(200);

    const second = start();
    expect(await second.exited()).toEqual({ code: 1, signal: null });
    expect(second.errors()).toMatch(/^Colloquy cannot start: .*in use by another Colloquy server.*\n$/);
    expect(second.errors()).toContain(`(process ${child.pid})`);
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
  });

  it.skipIf(process.platform !== "linux")("warns if it may open few files, with the limit", async () => {
    const started = startWithFiles(directory, 1024);
    programs.push(started);
    await started.find(/"level":"warn".*may open only 1024 files.*LimitNOFILE/);
    await endProcess(started);
    const enough = startWithFiles(directory, 4096);
    programs.push(enough);
    await listening(enough);
    expect(enough.output()).not.toContain("may open only");
  });

  it("starts under `node --watch`, which sends messages over the ports of threads", async () => {
    const { address } = await startListening({ WATCH_REPORT_DEPENDENCIES: "1" });
    const answer = await fetch(`${address}/api/chat?message=hello`, {
      method: "POST",
      headers: { "x-session-id": SESSION, prefer: "wait=20" },
    });
    expect(await answer.json()).toMatchObject({ is_processing: false });
  });

  it("reads .env after set variables, and exits with 0 on SIGINT", async () => {
    await writeFile(join(directory, ".env"), "PORT=1\nCOLLOQUY_DATA_DIR=elsewhere\nCOLLOQUY_TYPO=1\n");
    const { address, child, errors, exited, find, output } = await startListening();
    expect(output()).toContain("COLLOQUY_TYPO is set, but nothing reads it.");
    expect(new URL(address).port).not.toBe("1");
    expect(existsSync(join(directory, "elsewhere"))).toBe(true);
    child.kill("SIGINT");
    expect(await exited()).toEqual({ code: 0, signal: null });
    await find(/"msg":"stopped"/);
    expect(errors()).toBe("");
  });

  it("reads a .env that begins with a byte order mark, as some editors write it", async () => {
    await writeFile(join(directory, ".env"), "\uFEFFCOLLOQUY_PUBLIC_URL=abc\n");
    const { errors, exited } = start({}, "check");
    expect(await exited()).toEqual({ code: 2, signal: null });
    expect(errors()).toContain("COLLOQUY_PUBLIC_URL: must be the URL");
  });

  it("ignores a .env that is not a file, with a message", async () => {
    await mkdir(join(directory, ".env"));
    const { errors, exited } = start({}, "check");
    expect(await exited()).toEqual({ code: 0, signal: null });
    expect(errors()).toMatch(
      /^Colloquy: \S+\/\.env cannot be used: it is a directory and no file\. It is ignored: [^\n]+\n$/,
    );
  });

  it("reports every configuration problem without a stack, and exits with 2", async () => {
    await configureWithTimer({ limits: { maxSteps: "many" } });
    const { exited, errors, output } = start({ PORT: "x", COLLOQUY_NATS_URL: "nats://x" });
    expect(await exited()).toEqual({ code: 2, signal: null });
    expect(errors().split("\n")).toEqual([
      "Colloquy cannot start: the configuration has 3 problems.",
      '  - PORT: must be a number from 0 to 65535 (0 takes a free port), not "x".',
      "  - COLLOQUY_NATS_URL: connects nodes that share a database, but without COLLOQUY_DATABASE_URL there is only one node, on SQLite. Set COLLOQUY_DATABASE_URL too, or unset this variable.",
      "  - colloquy.config.js, limits.maxSteps: must be a number, not text.",
      "",
    ]);
    expect(output()).toBe("");
  });

  it.each(["check", "serve"])(
    "reports every problem of OpenAPI documents with its path, and exits with 2: %s",
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
      await configureWithTimer({ apps });
      const { exited, errors } = start({}, command);
      expect(await exited()).toEqual({ code: 2, signal: null });
      expect(errors()).toContain("the configuration has 4 problems");
      expect(errors()).toMatch(/openapi\.bad\.document: .*broken\.yaml: It cannot be parsed: .*\(\d+:\d+\)/);
      expect(errors()).toMatch(
        /apps\.default\.openapi\.shop\.operations\[1\]: .* no operation "no"\. It has pets\./,
      );
      expect(errors()).toMatch(/apps\.default\.openapi\.lost\.baseURL: It names no server\./);
      expect(errors()).toContain("apps.default.colour");
    },
  );

  it("reports a used port and exits with 1", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { exited, errors } = start({ PORT: String(port) });
    expect(await exited()).toEqual({ code: 1, signal: null });
    expect(errors()).toBe(
      `Colloquy cannot start: 127.0.0.1:${port} is taken by another program. Stop that one, or choose another port with --port or PORT.\n`,
    );
    taken.close();
  });

  const expectRefusal = async (place: string, command: string, told: RegExp): Promise<void> => {
    const { exited, errors, output } = start({ COLLOQUY_DATA_DIR: place }, ...command.split(" "));
    expect(await exited()).toEqual({ code: 1, signal: null });
    expect(errors()).toMatch(told);
    expect(errors()).toMatch(/^Colloquy.* COLLOQUY_DATA_DIR\.\n$/);
    expect(output()).toBe("");
  };
  /** Returns the refusals of `serve` and of another command, without a process for each. */
  const refusals = async (place: string): Promise<readonly string[]> => {
    const environment = { PORT: "0", COLLOQUY_DATA_DIR: place };
    const loaded = await loadConfig({ environment, workingDirectory: directory });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const { config } = loaded;
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const error = await buildServer(config, { logger, onFatal() {} }).catch((failure: unknown) => failure);
    const { code, errors, output } = await recordedRun(["keys", "list"], {
      openLocalStore: (need) =>
        openLocalStore({ dataDirectory: join(directory, place), secretKey: null }, need),
    });
    expect({ code, output }).toEqual({ code: 1, output: "" });
    return [explainStartFailure(error, config), errors];
  };

  it.skipIf(!existsSync("/proc/self"))("does not hang on a data directory in /proc", () =>
    expectRefusal("/proc/x/y", "serve", /The data directory \/proc\/x\/y cannot be used: there is no such/),
  );

  it.each([
    ["serve", /^Colloquy cannot start: The data directory \S*file\/data cannot be used: it, or something on/],
    ["keys list", /^Colloquy: The data directory \S*file\/data cannot be used: it, or something on/],
  ])("reports an unusable data directory and exits with 1: %s", async (command, told) => {
    await writeFile(join(directory, "file"), "");
    await expectRefusal("file/data", command, told);
  });

  it("names the problem and the remedy for each unusable data directory", async () => {
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
    for (const [place, told] of places) {
      for (const refusal of await refusals(place)) {
        expect(refusal).toMatch(told);
        expect(refusal).toMatch(/^[^\n]* COLLOQUY_DATA_DIR\.\n?$/);
      }
    }
  });

  it.each(["serve", "keys list", "migrate --from sqlite:. --to postgres://127.0.0.1:1/x"])(
    "reports an unreachable database and exits with 1: %s",
    async (command) => {
      await writeFile(join(directory, "colloquy.db"), "");
      const environment = { COLLOQUY_DATABASE_URL: "postgres://127.0.0.1:1/x" };
      const { exited, errors, output } = start(environment, ...command.split(" "));
      expect(await exited()).toEqual({ code: 1, signal: null });
      expect(errors()).toMatch(
        /^Colloquy[^\n]*: The database cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1\. Check that it runs, that COLLOQUY_DATABASE_URL is correct[^\n]*\n$/,
      );
      expect(output()).toBe("");
    },
  );

  it.each([
    ["--version", 0, /^\d+\.\d+\.\d+\n$/, /^$/],
    ["--help", 0, /Usage: colloquy/, /^$/],
    ["keyz", 2, /^$/, /^Colloquy: unknown command 'keyz'/],
    ["serve --port", 2, /^$/, /^Colloquy: option '--port <number>' argument missing/],
    ["serve --port=", 2, /^$/, /^Colloquy: option '--port <number>' argument '' is invalid\. It is empty/],
    [
      "serve --port x",
      2,
      /^$/,
      /^Colloquy cannot start: [^\n]*\n {2}- --port: must be a number from 0 to 65535/,
    ],
    ["serve --host no/host", 2, /^$/, /\n {2}- --host: /],
  ])("with the arguments %s exits with %i", async (parameters, code, output, errors) => {
    const started = start({}, ...parameters.split(" "));
    expect(await started.exited()).toEqual({ code, signal: null });
    expect(started.output()).toMatch(output);
    expect(started.errors()).toMatch(errors);
  });
});

describe("a configuration that holds a timer", () => {
  it.each([
    [{}, "check", 0],
    [{ colour: 1 }, "check --json", 2],
  ])("does not delay the exit of a process without work: %j %s", async (config, parameters, code) => {
    await configureWithTimer(config);
    const { exited, output, errors } = start({}, ...parameters.split(" "));
    expect(await exited()).toEqual({ code, signal: null });
    expect(output() + errors()).toMatch(code === 0 ? /is valid/ : /colour/);
  });
});

it("check warns of an MCP server whose program does not exist", async () => {
  const mcp = { notes: { command: "/no/such/program" } };
  const text = JSON.stringify({ apps: { default: { mcp } } });
  await writeFile(join(directory, "colloquy.config.json"), text);
  const { exited, output, errors } = start({}, "check");
  expect(await exited()).toEqual({ code: 0, signal: null });
  expect(output()).toMatch(/is valid/);
  expect(errors()).toMatch(/^Warning: [^\n]*mcp notes: [^\n]*cannot be reached[^\n]*\n$/);
});

describe("a configuration that ends the process", () => {
  it.each(["check", "check --json", "serve"])("is reported with exit code 2: %s", async (parameters) => {
    await writeFile(join(directory, "colloquy.config.js"), "process.exit(0);");
    const { exited, output, errors } = start({}, ...parameters.split(" "));
    expect(await exited()).toEqual({ code: 2, signal: null });
    expect(errors()).toMatch(
      /^Colloquy: The configuration file ended the process while it was read\. [^\n]+\n$/,
    );
    expect(output()).toBe("");
  });

  it("is reported if it throws where nothing catches the error", async () => {
    const text = 'Promise.reject(new Error("planted")); await new Promise(() => {}); export default {};';
    await writeFile(join(directory, "colloquy.config.mjs"), text);
    const { exited, errors } = start({}, "check");
    expect(await exited()).toEqual({ code: 2, signal: null });
    expect(errors()).toMatch(
      /^Colloquy: [^\n]*Take process\.exit, and errors that nothing catches, out of it/,
    );
  });
});

describe("a defect", () => {
  it.each([
    ["thrown", 'throw new Error("planted")'],
    ["rejected", 'void Promise.reject(new Error("planted"))'],
  ])("ends the process with code 1 and a line with the reason if an error is %s", async (_how, defect) => {
    const plant = `data:text/javascript,${encodeURIComponent(`process.on("SIGUSR2", () => { ${defect}; });`)}`;
    const { child, exited, find } = await startListening({ NODE_OPTIONS: `--import=${plant}` });
    child.kill("SIGUSR2");
    expect(await exited()).toEqual({ code: 1, signal: null });
    const [line] = await find(/.*"level":"fatal".*/);
    expect(JSON.parse(line)).toMatchObject({ err: { message: "planted" } });
  });
});

it("opens no debugger on SIGUSR1", async () => {
  const { address, child, errors, exited } = await startListening();
  child.kill("SIGUSR1");
  expect((await fetch(`${address}/healthz`)).status).toBe(200);
  child.kill("SIGTERM");
  expect(await exited()).toEqual({ code: 0, signal: null });
  expect(errors()).toBe("");
});

describe("stopping", () => {
  it("ends in order on two signals at once, as npm sends them", async () => {
    const { child, exited, find } = await startListening();
    // Both wait while the process is stopped, and arrive together. Of two equal signals, only one may arrive.
    for (const signal of ["SIGSTOP", "SIGINT", "SIGTERM", "SIGCONT"] as const) child.kill(signal);
    expect(await exited()).toEqual({ code: 0, signal: null });
    await find(/"msg":"stopped"/);
  });

  it("goes on after SIGHUP if it has no terminal, with a warning", async () => {
    const { address, child, find } = await startListening();
    child.kill("SIGHUP");
    await find(/"msg":"SIGHUP changes nothing\. Restart the service\."/);
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
  });

  it("does not wait for running turns after a second signal", async () => {
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
