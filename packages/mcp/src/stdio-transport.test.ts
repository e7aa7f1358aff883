// Servers that run as child processes: their environment, their output, and their complete termination.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import { ManualClock } from "../../server/test/manual-clock.ts";
import { StdioTransport } from "./stdio-transport.ts";
import { mcpTools, ORIGIN, stdioServer } from "./testing/opened-mcp.ts";
import { until } from "./testing/until.ts";

const clock = createSystemClock();
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-stdio-"));
});
afterAll(() => rm(directory, { recursive: true }));

/**
 * Source of a server that responds to the handshake and to tools/list with one tool; each test adds `call`.
 */
const SERVER = `
const { createInterface } = require("node:readline");
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const results = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
  "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
};
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (results[method] !== undefined) say({ id, result: results[method] });
  else if (method === "tools/call") call(id);
});
`;

async function open(call: string, env: Readonly<Record<string, string>> = {}, given: Clock = clock) {
  const file = join(directory, `${Math.random()}.cjs`);
  await writeFile(file, `${SERVER}\nfunction call(id) { ${call} }`);
  return mcpTools({ srv: stdioServer(process.execPath, [file], env) }, { clock: given });
}

/** Returns the system clock, on which the next `waits` waits after `begin` end at once, and others last 30 times as long. */
function hurriedClock(waits: number) {
  let hurried = 0;
  const after: Clock["after"] = (ms, callback) => {
    hurried -= 1;
    return clock.after(hurried >= 0 ? 0 : 30 * ms, callback);
  };
  return { clock: { ...clock, after }, begin: () => void (hurried = waits) };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const DONE = 'say({ id, result: { content: [{ type: "text", text: "done" }] } });';

describe("a server process", () => {
  it("is killed with all its children, even if they ignore SIGTERM", async () => {
    const pids = join(directory, "pids");
    // The server ignores the end of its input and SIGTERM, so both waits must time out.
    const hurried = hurriedClock(2);
    const tools = await open(
      `const child = require("node:child_process").spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
       process.on("SIGTERM", () => {});
       lines.on("close", () => setInterval(() => {}, 1000));
       require("node:fs").writeFileSync(${JSON.stringify(pids)}, process.pid + " " + child.pid);
       ${DONE}`,
      {},
      hurried.clock,
    );
    expect((await tools.call("srv_work")).output).toBe("done");
    const [server = 0, child = 0] = (await readFile(pids, "utf8")).split(" ").map(Number);
    expect([isRunning(server), isRunning(child)]).toEqual([true, true]);
    hurried.begin();
    await tools.toolset.close();
    await until(() => !isRunning(server) && !isRunning(child));
  });

  it("may clean up on SIGTERM, and its remaining children are killed", async () => {
    const note = join(directory, "note");
    // The server ignores the end of its input; its wait after SIGTERM is not shortened.
    const hurried = hurriedClock(1);
    const tools = await open(
      `const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
       lines.on("close", () => setInterval(() => {}, 1000));
       process.on("SIGTERM", () => {
         require("node:fs").writeFileSync(${JSON.stringify(note)}, String(child.pid));
         process.exit(0);
       });
       ${DONE}`,
      {},
      hurried.clock,
    );
    await tools.call("srv_work");
    hurried.begin();
    await tools.toolset.close();
    const child = Number(await readFile(note, "utf8"));
    expect(child).toBeGreaterThan(0);
    await until(() => !isRunning(child));
  });

  it("leaves no children when it exits by itself", async () => {
    const pids = join(directory, "left");
    const tools = await open(
      `const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
       require("node:fs").writeFileSync(${JSON.stringify(pids)}, String(child.pid));
       process.exit(1);`,
    );
    await tools.call("srv_work");
    const child = Number(await readFile(pids, "utf8"));
    expect(child).toBeGreaterThan(0);
    await until(() => !isRunning(child));
    await tools.toolset.close();
  });

  it("does not outlive a service that exits abruptly", async () => {
    const transport = JSON.stringify(new URL("stdio-transport.ts", import.meta.url).href);
    const pids = join(directory, "survivor");
    const server = join(directory, "survivor.cjs");
    const service = join(directory, "service.mjs");
    await writeFile(
      server,
      `require("node:fs").writeFileSync(${JSON.stringify(pids)}, String(process.pid));
       setInterval(() => {}, 1000);
       process.stdout.write('{"jsonrpc":"2.0","method":"ready"}\\n');`,
    );
    await writeFile(
      service,
      `const { StdioTransport } = await import(${transport});
       const args = [${JSON.stringify(server)}];
       const clock = { monotonic: () => 0 };
       const options = { command: process.execPath, args, env: {}, clock, onErrorLine: () => {} };
       const transport = new StdioTransport(options);
       transport.onmessage = () => process.exit(1);
       await transport.start();`,
    );
    await once(spawn(process.execPath, [service], { stdio: "ignore" }), "exit");
    const pid = Number(await readFile(pids, "utf8"));
    expect(pid).toBeGreaterThan(0);
    await until(() => !isRunning(pid));
  });

  it("fails the current call when it dies, and is restarted", async () => {
    const tools = await open("process.exit(3);");
    const outcome = await tools.call("srv_work");
    expect(outcome.output).toMatch(/^The connection to the MCP server "srv" broke/);
    await until(async () => {
      const { output } = await tools.call("srv_work");
      return !JSON.stringify(output).includes("cannot be reached");
    });
    await tools.toolset.close();
  });

  it("causes a logged warning when it is killed while idle", async () => {
    const pids = join(directory, "idle");
    const tools = await open(
      `require("node:fs").writeFileSync(${JSON.stringify(pids)}, String(process.pid)); ${DONE}`,
    );
    await tools.call("srv_work");
    process.kill(Number(await readFile(pids, "utf8")), "SIGKILL");
    const lost = () => tools.logger.lines.filter(({ level }) => level === "warn");
    await until(() => lost().length > 0);
    expect(lost()).toEqual([
      {
        level: "warn",
        message: "the connection to an MCP server is lost",
        fields: { ...ORIGIN, server: "srv", failure: "The server's process was ended by SIGKILL." },
      },
    ]);
    await tools.toolset.close();
  });

  it.each([
    ["with its id first", "{ jsonrpc: '2.0', id, result }"],
    ["with its id last", "{ result, jsonrpc: '2.0', id }"],
  ])("stays usable after an oversized response, which is cut, %s", async (_case, message) => {
    const tools = await open(
      `calls = (globalThis.calls ?? 0) + 1;
       const result = { content: [{ type: "text", text: process.pid + (calls === 2 ? " x".repeat(2500000) : "") }] };
       process.stdout.write(JSON.stringify(${message}) + "\\n");`,
    );
    const { output: pid } = await tools.call("srv_work");
    const { output, isError } = await tools.call("srv_work");
    expect(isError).toBe(false);
    expect(JSON.stringify(output).startsWith(`${JSON.stringify(pid).slice(0, -1)} x x x x x`)).toBe(true);
    expect(output).toMatch(/\n\[Cut: this is the beginning of more than 4194304 bytes\.\]$/);
    expect((await tools.call("srv_work")).output).toBe(pid);
    await tools.toolset.close();
  });

  it("only causes logged warnings if it cannot be started", async () => {
    const tools = mcpTools({ srv: stdioServer(join(directory, "nothing-here"), []) }, { clock });
    expect((await tools.open()).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    expect(tools.logger.lines.map(({ message }) => message)).toEqual([
      "an MCP server cannot be reached",
      "a tool source fails: its tools are unavailable",
    ]);
    await tools.toolset.close();
  });

  it("has nothing to wait for when its program cannot be started", async () => {
    const transport = new StdioTransport({
      command: join(directory, "none"),
      args: [],
      env: {},
      clock: new ManualClock(),
      onErrorLine: () => undefined,
    });
    await expect(transport.start()).rejects.toThrow("ENOENT");
    await transport.close();
  });

  it("may print invalid messages, and has its stderr logged in parts and without its keys", async () => {
    const tools = await open(
      `process.stdout.write("hello\\n");
       process.stderr.write("my key is " + process.env.API_KEY + "\\n" + ("x".repeat(990) + process.env.API_KEY + "y".repeat(990)) + "\\n" + "z".repeat(100000) + "\\n");
       for (let line = 0; line < 5000; line += 1) process.stderr.write("line " + line + "\\n");
       process.stderr.write("", () => { ${DONE} });`,
      { API_KEY: "operators-key-9" },
    );
    expect((await tools.call("srv_work")).output).toBe("done");
    const said = () =>
      tools.logger.lines
        .filter(({ message }) => message === "an MCP server wrote to stderr")
        .map(({ fields }) => fields);
    await until(() => JSON.stringify(said()).includes("no more of this process"));
    expect(said()[0]).toEqual({ ...ORIGIN, server: "srv", line: "my key is [secret]" });
    expect(said()[1]).toEqual({ ...ORIGIN, server: "srv", line: `${"x".repeat(990)}[secret]yy` });
    expect(said()[2]).toEqual({ ...ORIGIN, server: "srv", line: "[a line of more than 16384 characters]" });
    expect(said()).toHaveLength(1_001);
    expect(JSON.stringify(said()).length).toBeLessThan(100_000);
    expect(tools.logger.lines.every(({ level }) => level === "debug")).toBe(true);
    await tools.toolset.close();
  });

  it.each([
    ["one line", "x"],
    ["invalid messages", "garbage\\n"],
  ])("is disconnected when it prints %s endlessly", async (_case, text) => {
    const tools = await open(
      `const more = () => process.stdout.write("${text}".repeat(8192), more); more();`,
    );
    expect((await tools.call("srv_work")).output).toMatch(/broke before the tool answered/);
    await tools.toolset.close();
  });
});
