import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { NOTHING, target } from "@colloquy/testing/internal/store/fixtures/scenario";
import { openSqliteStore } from "./open.ts";

const PROGRAM = fileURLToPath(new URL("../../../test/store-process.ts", import.meta.url));

describe("one server per data directory", () => {
  let directory: string;
  const children: ChildProcess[] = [];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "colloquy-lock-"));
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  });

  /** Starts a process on the directory; returns it with its first line of output. */
  async function start(task: string): Promise<{ child: ChildProcess; said: string }> {
    const child = spawn(process.execPath, [PROGRAM, directory, task], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    const [said] = await once(createInterface(child.stdout), "line");
    return { child, said: String(said) };
  }

  const open = (role: "server" | "administration" = "server") =>
    openSqliteStore({
      directory,
      role,
      processId: process.pid,
      clock: new ManualClock(),
      onFatal: (error) => {
        throw error;
      },
    });

  it("rejects a second server with a message that names the directory and the other process", async () => {
    const { child } = await start("hold");
    await expect(open()).rejects.toThrow(
      `The data directory ${directory} is in use by another Colloquy server (process ${child.pid}). ` +
        "Stop that server first, or set another directory with COLLOQUY_DATA_DIR.",
    );
  });

  it("rejects a second server in another process and in this one", async () => {
    const store = await open();
    const { said } = await start("hold");
    expect(said).toContain(`another Colloquy server (process ${process.pid})`);
    await expect(open()).rejects.toThrow(/another Colloquy server/);
    await store.execute({ kind: "open", target: target("still-works"), input: NOTHING });
    await store.close();
  });

  it("lets the next server start after the first was killed", async () => {
    const { child } = await start("hold");
    child.kill("SIGKILL");
    await once(child, "exit");
    const store = await open();
    expect(await store.sessions.find("a")).toBeNull();
    await store.close();
  });

  it("lets the next server start after the first was closed, and removes the process id", async () => {
    const first = await open();
    expect(existsSync(join(directory, "server.pid"))).toBe(true);
    await first.close();
    expect(existsSync(join(directory, "server.pid"))).toBe(false);
    const second = await open();
    await second.close();
  });

  it("lets administration commands read a running server's data and write beside it", async () => {
    const server = await open();
    await server.execute({ kind: "open", target: target("a"), input: NOTHING });
    const { child, said } = await start("administer");
    expect(said).toBe(`ready ${child.pid}`);
    await once(child, "exit");
    expect(child.exitCode).toBe(0);
    expect(await server.turns.countWaiting(10)).toBe(1);
    const administration = await open("administration");
    expect(await administration.sessions.find("a")).not.toBeNull();
    await administration.close();
    await server.execute({ kind: "open", target: target("b"), input: NOTHING });
    await server.close();
  });
});
