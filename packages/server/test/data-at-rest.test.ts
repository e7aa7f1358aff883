// The files of a real server: their permissions, and the absence of deleted text in their bytes.

import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chat, newSession, send, whenIdle } from "./black-box/client.ts";
import { endProcess, listening, type Started, startIn } from "./watched-process.ts";

const run = promisify(execFile);
const FILES = ["colloquy.db", "colloquy.db-wal", "colloquy.db-shm"];
const SESSIONS = 12;

let directory = "";
let data = "";
const programs: Started[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-at-rest-"));
  data = join(directory, "data");
});
afterEach(async () => {
  await Promise.all(programs.splice(0).map(endProcess));
  await rm(directory, { recursive: true });
});

async function start(environment: Readonly<Record<string, string>> = {}) {
  const started = startIn(directory, environment);
  programs.push(started);
  return await listening(started);
}

describe("deleted text", () => {
  /** Sends a message twice in a session. A message that is not short fills its own pages. */
  async function say(url: string, session: string, filler = "x".repeat(8000)): Promise<void> {
    for (const turn of ["first", "second"]) {
      await chat(url, session, `${filler}${turn} ${markOf(session)}`);
      await whenIdle(url, session);
    }
  }

  it("is in no byte of database, log and index, and other text stays", async () => {
    const { address } = await start();
    const sessions = Array.from({ length: SESSIONS }, newSession);
    await Promise.all(sessions.map((session) => say(address, session)));
    expect(await found(sessions)).toEqual(sessions);
    const gone = sessions.filter((_, index) => index % 3 === 1);
    const left = sessions.filter((session) => !gone.includes(session));
    for (const session of gone) {
      expect((await send(address, "DELETE", `/api/sessions/${session}`)).status).toBe(200);
    }
    await expect.poll(() => found(sessions)).toEqual(left);
  });

  it("is gone after it was replaced, with the answer and everything else that quoted it", async () => {
    const { address } = await start();
    const sessions = Array.from({ length: SESSIONS }, newSession);
    await Promise.all(sessions.map((session) => say(address, session)));
    const replaced = sessions.filter((_, index) => index % 3 === 1);
    for (const session of replaced) {
      const title = await send(address, "PATCH", `/api/sessions/${session}`, { json: { title: "Chosen" } });
      expect(title.status).toBe(200);
      const { messages } = await whenIdle(address, session);
      const json = { message: "hello", replaces: messages[0]?.id };
      expect((await send(address, "POST", "/api/chat", { session, json })).status).toBe(200);
    }
    const left = sessions.filter((session) => !replaced.includes(session));
    await expect.poll(() => found(sessions)).toEqual(left);
  });

  it("is gone from the log of a killed server once another server has started", async () => {
    const { address, child, exited } = await start();
    const session = newSession();
    await say(address, session);
    expect((await send(address, "DELETE", `/api/sessions/${session}`)).status).toBe(200);
    child.kill("SIGKILL");
    await exited();
    await start();
    await expect.poll(() => found([session])).toEqual([]);
  });

  it("is gone from shared pages as well after the commands of docs/operations.md rewrote the file", async () => {
    const { address, child, exited } = await start();
    const sessions = Array.from({ length: SESSIONS }, newSession);
    await Promise.all(sessions.map((session) => say(address, session, "")));
    const [left, ...gone] = sessions;
    for (const session of gone) await send(address, "DELETE", `/api/sessions/${session}`);
    child.kill("SIGTERM");
    await exited();
    const page = await readFile(join(import.meta.dirname, "../../../docs/operations.md"), "utf8");
    const command = page.split("<!-- rewriting of SQLite -->")[1]!.split("```")[1]!.replace(/^sh\n/, "");
    await run("sh", ["-euc", command.replace("npx node", process.execPath)], { cwd: directory });
    const bytes = await readFile(join(data, "colloquy.db"), "latin1");
    expect(await readdir(data)).not.toContain("colloquy.db-wal");
    expect(sessions.filter((session) => bytes.includes(markOf(session)))).toEqual([left]);
  });

  async function found(sessions: readonly string[]): Promise<readonly string[]> {
    const files = await Promise.all(FILES.map((name) => readFile(join(data, name), "latin1")));
    return sessions.filter((session) => files.some((bytes) => bytes.includes(markOf(session))));
  }

  /** Returns text that occurs only in the session's messages; the id itself also occurs elsewhere. */
  function markOf(session: string): string {
    return `said-${session.replaceAll("-", "")}`;
  }
});

describe("a data directory with open permissions", () => {
  it("is restricted to its owner at the start, with a line in the log", async () => {
    await mkdir(data);
    await chmod(data, 0o755);
    const { find } = await start();
    await find(/"level":"info".*"mode":"755".*removed the permissions of other users on the data/);
    expect((await stat(data)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(data)) {
      expect([name, (await stat(join(data, name))).mode & 0o777]).toEqual([name, 0o600]);
    }
  });

  it("causes a warning if its permissions cannot be changed", async () => {
    await mkdir(join(directory, "shared"));
    await chmod(join(directory, "shared"), 0o1777);
    await symlink(join(directory, "shared"), data);
    const { find } = await start();
    await find(/"level":"warn".*"mode":"777".*Other users can access the data/);
    expect((await stat(data)).mode & 0o1777).toBe(0o1777);
  });
});
