// The service's initial environment, as an MCP server that it starts can read it.

import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chat, newSession, send } from "./black-box/client.ts";
import { endProcess, listening, type Started, startIn } from "./watched-process.ts";

const KEY = "the-admins-key-0123456789abcdef";
const PROVIDER_KEY = "sk-of-a-provider-0123456789";
/** Reads the parent's environment from /proc, and then waits like a silent server. */
const SPY = `
  const { readFileSync, renameSync, writeFileSync } = require("node:fs");
  writeFileSync("seen.new", readFileSync("/proc/" + process.ppid + "/environ"));
  renameSync("seen.new", "seen");
  process.stdin.resume();
`;

describe.skipIf(process.platform !== "linux")("the environment of a running service", () => {
  let directory = "";
  let started: Started | null = null;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "colloquy-environment-"));
  });
  afterEach(async () => {
    if (started !== null) await endProcess(started);
    await rm(directory, { recursive: true });
  });

  it("is not in /proc, but is complete for the service and its child processes", async () => {
    await writeFile(join(directory, "spy.cjs"), SPY);
    await writeFile(
      join(directory, "colloquy.config.json"),
      JSON.stringify({
        apps: {
          default: {
            models: ["demo/assistant"],
            mcp: { spy: { command: process.execPath, args: ["spy.cjs"], env: { GIVEN: "{{env.GIVEN}}" } } },
          },
        },
      }),
    );
    const environment = { COLLOQUY_ADMIN_KEY: KEY, OPENAI_API_KEY: PROVIDER_KEY, GIVEN: "given" };
    started = startIn(directory, environment);
    const { address, child, output } = await listening(started);
    const session = newSession();
    await chat(address, session, "hello");
    await expect.poll(() => existsSync(join(directory, "seen"))).toBe(true);

    const seen = await readFile(join(directory, "seen"), "latin1");
    expect(seen).toMatch(/^\0+$/);
    expect(await readFile(`/proc/${child.pid}/environ`, "latin1")).toBe(seen);
    const headers = { authorization: `Bearer ${KEY}` };
    expect((await send(address, "GET", "/api/admin/overview", { headers })).status).toBe(200);
    expect(output()).not.toContain("/proc");
  });
});
