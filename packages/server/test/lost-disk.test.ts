// The data directory vanishes, fills up or becomes read-only under the running program. File systems are
// mounted for real, where this user may do that.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rename, rm, statfs, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Answer, chat, expectProblem, newSession, send, state, whenIdle } from "./black-box/client.ts";
import { Program } from "./black-box/server.ts";
import { isWithout } from "./programs.ts";
import { startIn } from "./watched-process.ts";

const run = promisify(execFile);
const FILES = ["colloquy.db", "colloquy.db-wal", "colloquy.db-shm"];

let folder: string;
let data: string;
let program: Program | null;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-lost-disk-"));
  data = join(folder, "data");
  await mkdir(data);
  program = null;
});
afterEach(async () => {
  await program?.remove();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the program on `data`, with one conversation. */
async function start(): Promise<{ readonly url: string; readonly known: string }> {
  program = await Program.start(null, { COLLOQUY_DATA_DIR: data });
  const known = newSession();
  await chat(program.url, known, "hello there");
  await whenIdle(program.url, known);
  await untilReady(program.url, 200);
  return { url: program.url, known };
}

const tryToChat = (url: string): Promise<Answer> =>
  send(url, "POST", "/api/chat?message=hi", { session: newSession() });

async function untilReady(url: string, status: 200 | 503): Promise<void> {
  await expect
    .poll(async () => (await send(url, "GET", "/readyz")).status, { timeout: 20_000, interval: 250 })
    .toBe(status);
}

/** Asserts that the service takes no message, still reads, is not ready, and logs an error that matches. */
async function expectRefusal(url: string, known: string, logged: RegExp): Promise<void> {
  const answer = await tryToChat(url);
  expectProblem(answer, 503, "store_unavailable");
  expect(answer.text).toContain("must look at its log");
  expect((await state(url, known)).messages).toHaveLength(2);
  await untilReady(url, 503);
  await expect.poll(() => errorsIn(program?.log ?? "")).toMatch(logged);
}

/** Asserts that the service works again, with everything that it acknowledged. */
async function expectRecovery(url: string, known: string): Promise<void> {
  await untilReady(url, 200);
  await chat(url, known, "and now?");
  expect((await whenIdle(url, known)).messages).toHaveLength(4);
}

const errorsIn = (log: string): string =>
  log
    .split("\n")
    .filter((line) => line.includes('"level":"error"'))
    .join("\n");

describe("a data directory whose files vanish", () => {
  it("takes no messages after a delete, and its data can be copied from the open files", async () => {
    const { url, known } = await start();
    await rm(data, { recursive: true });
    await expectRefusal(url, known, /colloquy\.db was removed.*Do not stop the service/);
    const rescued = await rescue(program?.pids[0] ?? 0);
    const database = new DatabaseSync(join(rescued, "colloquy.db"));
    const { messages } = { ...database.prepare("SELECT count(*) AS messages FROM messages").get() };
    database.close();
    expect(messages).toBe(2);
  });

  it("takes no messages while a file is replaced, and recovers when it is put back", async () => {
    const { url, known } = await start();
    const [path, aside] = [join(data, "colloquy.db"), join(folder, "aside.db")];
    await rename(path, aside);
    await copyFile(aside, path);
    await expectRefusal(url, known, /colloquy\.db was replaced/);
    await rename(aside, path);
    await expectRecovery(url, known);
  });

  it.each(["colloquy.db-wal", "colloquy.db-shm"])("takes no messages without %s", async (name) => {
    const { url, known } = await start();
    await rm(join(data, name));
    await expectRefusal(url, known, new RegExp(`${name} was removed`));
    expect(existsSync(join(data, name))).toBe(false);
  });
});

describe.skipIf(!(await mayMount()) || (await isWithout("mkfs.ext4", "losetup")))(
  "a mounted data directory",
  () => {
    afterEach(async () => {
      await program?.stop("SIGKILL");
      // Once for each mount that a test may have left.
      for (const _ of [1, 2]) await run("umount", [data]).catch(() => undefined);
    });

    it("takes no messages while another volume is mounted over it", async () => {
      const { url, known } = await start();
      await run("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", data]);
      await expectRefusal(url, known, /colloquy\.db was removed/);
      await run("umount", [data]);
      await expectRecovery(url, known);
    });

    it("is not ready before messages are refused on a full disk, and recovers when there is space", async () => {
      await run("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", data]);
      const { url, known } = await start();
      const { bavail, bsize } = await statfs(data);
      await writeFile(join(data, "filler"), Buffer.alloc(bavail * bsize - 2 * 1024 * 1024));
      expect((await tryToChat(url)).status).toBe(200);
      await untilReady(url, 503);
      await run("dd", ["if=/dev/zero", `of=${join(data, "rest")}`, "bs=4k"]).catch(() => undefined);
      let answer = await tryToChat(url);
      for (let count = 0; answer.status === 200 && count < 500; count += 1) answer = await tryToChat(url);
      expectProblem(answer, 507, "insufficient_storage");
      expect((await send(url, "GET", "/readyz")).status).toBe(503);
      expect((await state(url, known)).messages).toHaveLength(2);
      await Promise.all(["filler", "rest"].map((name) => rm(join(data, name))));
      await expectRecovery(url, known);
    });

    it("takes no messages after the kernel made the file system read-only", async () => {
      const image = join(folder, "image");
      await writeFile(image, "");
      await truncate(image, 64 * 1024 * 1024);
      await run("mkfs.ext4", ["-q", "-F", image]);
      await run("mount", ["-o", "loop,errors=remount-ro", image, data]);
      const { url, known } = await start();
      await untilErased(url);
      const { stdout } = await run("losetup", ["-j", image, "-O", "NAME", "-n"]);
      await writeFile(`/sys/fs/ext4/${basename(stdout.trim())}/trigger_fs_error`, "1");
      await expectRefusal(url, known, /read-only/);
      await program?.stop("SIGKILL");
      const again = startIn(folder, { COLLOQUY_DATA_DIR: data });
      expect(await again.exited()).toMatchObject({ code: 1 });
      expect(again.errors()).toMatch(/^Colloquy cannot start: .*Read-only file system/);
    });
  },
);

/**
 * Resolves when no erasure of the log is due, whose failing fsync would end the process: that of a delete
 * comes after that of the start.
 */
async function untilErased(url: string): Promise<void> {
  const session = newSession();
  await send(url, "POST", "/api/sessions", { session });
  expect((await send(url, "DELETE", `/api/sessions/${session}`)).status).toBeLessThan(300);
  await expect.poll(() => statSync(join(data, "colloquy.db-wal")).size).toBe(0);
}

/** Copies the open files of the data from a process, and returns the folder of the copies. */
async function rescue(pid: number): Promise<string> {
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => join(`/proc/${pid}/fd`, fd));
  for (const path of open) {
    const name = basename(linkOf(path).replace(/ \(deleted\)$/, ""));
    if (FILES.includes(name)) await copyFile(path, join(folder, name));
  }
  return folder;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed since it was listed.
    return "";
  }
}

async function mayMount(): Promise<boolean> {
  if (await isWithout("mount", "umount")) return false;
  const place = mkdtempSync(join(tmpdir(), "colloquy-mount-"));
  try {
    await run("mount", ["-t", "tmpfs", "tmpfs", place]);
    await run("umount", [place]);
    return true;
  } catch {
    return false;
  } finally {
    await rm(place, { recursive: true });
  }
}
