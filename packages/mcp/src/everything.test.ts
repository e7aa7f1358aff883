// Tests against the protocol's reference server, over each of its transports.

import { spawn, type ChildProcess } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { findInstalled } from "../../../test/installed.ts";
import { findFreePort } from "../../server/torture/harness/server-process.ts";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { JsonValue } from "@colloquy/engine/internal/core/json";
import { httpServer, mcpTools, stdioServer, type McpServer, type McpTools } from "./testing/opened-mcp.ts";

const system = createSystemClock();
const SERVER = findInstalled("programs", "@modelcontextprotocol/server-everything/dist/index.js");

/** A clock whose time limits are ten times as long: the reference server starts slowly on a busy machine. */
const PATIENT: Clock = { ...system, after: (ms, callback) => system.after(10 * ms, callback) };

/** Starts the reference server over HTTP in its own process. */
async function start(transport: "streamableHttp" | "sse"): Promise<{ port: number; process: ChildProcess }> {
  const port = await findFreePort();
  const child = spawn(process.execPath, [SERVER!, transport], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const listens = Promise.withResolvers<void>();
  let said = "";
  child.stderr.on("data", (text: Buffer) => {
    said += text.toString();
    if (said.includes(String(port))) listens.resolve();
  });
  child.once("exit", () => listens.reject(new Error(said)));
  await listens.promise;
  return { port, process: child };
}

const NAMES = [
  "everything_echo",
  "everything_get-annotated-message",
  "everything_get-env",
  "everything_get-resource-links",
  "everything_get-resource-reference",
  "everything_get-structured-content",
  "everything_get-sum",
  "everything_get-tiny-image",
  "everything_gzip-file-as-resource",
  "everything_toggle-simulated-logging",
  "everything_toggle-subscriber-updates",
  "everything_trigger-long-running-operation",
];

const transports = ["stdio", "streamableHttp", "sse"] as const;

describe.skipIf(SERVER === null).each(transports)("the reference server over %s", (transport) => {
  let server: ChildProcess | null = null;
  let tools: McpTools;

  beforeAll(async () => {
    vi.stubEnv("COLLOQUY_CANARY", "canary");
    let settings: McpServer = stdioServer(process.execPath, [SERVER!, "stdio"], { OWN: "mine" });
    if (transport !== "stdio") {
      const started = await start(transport);
      server = started.process;
      const path = transport === "sse" ? "sse" : "mcp";
      settings = httpServer(`http://127.0.0.1:${started.port}/${path}`);
    }
    tools = mcpTools({ everything: settings }, { clock: PATIENT });
  });

  afterAll(async () => {
    await tools.toolset.close();
    server?.kill("SIGKILL");
    vi.unstubAllEnvs();
  });

  it("lists its tools with their effects", async () => {
    const { definitions } = await tools.open();
    expect(definitions.map(({ name }) => name)).toEqual(expect.arrayContaining(NAMES));
    const effects = Object.fromEntries(definitions.map(({ name, effect }) => [name, effect]));
    expect(effects).toMatchObject({
      everything_echo: "read",
    });
    expect(definitions.find(({ name }) => name === "everything_echo")?.inputSchema).toMatchObject({
      type: "object",
      required: ["message"],
    });
    expect((await tools.open()).definitions).toBe(definitions);
    expect(tools.logger.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  it("returns text, structured content, images and resources", async () => {
    expect(await tools.call("everything_echo", { message: "hello" })).toEqual({
      output: "Echo: hello",
      isError: false,
    });
    expect((await tools.call("everything_get-sum", { a: 2, b: 40 })).output).toContain("42");
    expect(await tools.call("everything_get-structured-content", { location: "New York" })).toMatchObject({
      output: { temperature: 33, conditions: "Cloudy" },
      isError: false,
    });
    const image = await tools.call("everything_get-tiny-image");
    expect(image.output).toContainEqual({ type: "image", mime_type: "image/png", bytes: expect.any(Number) });
    expect(JSON.stringify(image.output).length).toBeLessThan(1_000);
    const [file, ...others] = image.files ?? [];
    expect(others).toEqual([]);
    expect(file?.mediaType).toBe("image/png");
    expect(Buffer.from(file!.data).subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    const resource = await tools.call("everything_get-resource-reference", {
      resourceType: "Text",
      resourceId: 1,
    });
    expect(resource.output).toContainEqual(expect.objectContaining({ type: "resource" }));
  });

  it("is not called with invalid input", async () => {
    const { output, isError } = await tools.call("everything_get-sum", { a: "2", b: 40 });
    expect(isError).toBe(true);
    expect(output).toBe("The input does not fit the tool everything_get-sum: /a must be number.");
  });

  it("reports progress", async () => {
    const heard: JsonValue[] = [];
    const outcome = await tools.call(
      "everything_trigger-long-running-operation",
      { duration: 0.2, steps: 4 },
      { onProgress: (value) => void heard.push(value) },
    );
    expect(outcome.isError).toBe(false);
    expect(heard).toEqual([1, 2, 3, 4].map((progress) => ({ progress, total: 4 })));
  });

  it("stays usable after a call is cancelled", async () => {
    const stop = new AbortController();
    const outcome = tools.call(
      "everything_trigger-long-running-operation",
      { duration: 60, steps: 600 },
      { signal: stop.signal, onProgress: () => stop.abort() },
    );
    expect((await outcome).isError).toBe(true);
    expect((await tools.call("everything_echo", { message: "still here" })).isError).toBe(false);
  });

  if (transport !== "stdio") return;
  it("gets its configured environment only", async () => {
    const { output } = await tools.call("everything_get-env");
    const seen = JSON.parse(output as string) as Record<string, string>;
    expect(seen["OWN"]).toBe("mine");
    expect(Object.keys(seen)).not.toContain("COLLOQUY_CANARY");
    expect(Object.keys(seen).toSorted()).toEqual(
      ["HOME", "LOGNAME", "OWN", "PATH", "SHELL", "TERM", "USER"].filter((name) => name in seen),
    );
  });
});
