import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import {
  NOTHING,
  chat,
  identityOf,
  messagesOf,
  startTurn,
  step,
  target,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { ANONYMOUS } from "../../core/session-access.ts";
import { inspectSqlite } from "./inspection.ts";
import { lockFile } from "./lock.ts";
import { openSqliteStore } from "./open.ts";

const PROGRAM = fileURLToPath(new URL("../../../test/store-process.ts", import.meta.url));

describe("openSqliteStore", () => {
  let folder: string;
  let directory: string;
  const onFatal = vi.fn<(error: Error) => void>();

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "colloquy-open-"));
    directory = join(folder, "made", "data");
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
    vi.restoreAllMocks();
    onFatal.mockReset();
  });

  const open = (where: string | null = directory) =>
    openSqliteStore({ directory: where, clock: new ManualClock(), onFatal });
  /** Opens a store with a message in the index, and the search that finds it. */
  async function openWithMessage() {
    const store = await open();
    const id = randomUUID();
    await chat(store, id, "a word to find");
    await store.search.index();
    const query = {
      sessions: { kind: "session", id, access: ANONYMOUS },
      words: [{ word: "find", isPrefix: false }],
      before: null,
      limit: 10,
    } as const;
    return { store, id, query };
  }

  it("creates the data directory with access for its owner only", async () => {
    const store = await open();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    await store.close();
    expect(onFatal).not.toHaveBeenCalled();
  });

  it("searches while the thread of the database waits", async () => {
    const { store, query } = await openWithMessage();
    const other = new DatabaseSync(join(directory, "colloquy.db"));
    other.exec("BEGIN IMMEDIATE");
    let isWritten = false;
    const probe = store.probe().then(() => (isWritten = true));
    expect(await store.search.find(query)).toHaveLength(1);
    expect(isWritten).toBe(false);
    other.exec("ROLLBACK");
    other.close();
    await probe;
    await store.close();
    await expect(store.search.find(query)).rejects.toMatchObject({ code: "store_closed" });
    expect(onFatal).not.toHaveBeenCalled();
  });

  it("waits for searches in progress before it closes the database, and rejects new calls at once", async () => {
    const { store, query, id } = await openWithMessage();
    // The first search starts its thread, which then opens the database.
    let isSearched = false;
    const searched = store.search.find(query).finally(() => (isSearched = true));
    const closed = store.close();
    await Promise.all(
      [store.search.find(query), store.sessions.find(id)].map((late) =>
        expect(late).rejects.toMatchObject({ code: "store_closed" }),
      ),
    );
    // The directory stays locked until the search ends.
    let lock = lockFile(join(directory, "server.lock"));
    for (; lock === null && !isSearched; lock = lockFile(join(directory, "server.lock")))
      await setImmediate();
    expect(isSearched).toBe(true);
    lock?.release();
    expect(await searched).toHaveLength(1);
    await closed;
    expect(onFatal).not.toHaveBeenCalled();
  });

  it("rejects an unusable directory, and names it", async () => {
    await expect(open("/dev/null/data")).rejects.toThrow(/\/dev\/null\/data/);
  });

  it("rejects a database of a much newer version", async () => {
    await (await open()).close();
    const database = new DatabaseSync(join(directory, "colloquy.db"));
    database.exec("INSERT INTO schema_migrations VALUES (99, '0099_later.sql', 0)");
    database.close();
    await expect(open()).rejects.toThrow(/schema version 99.*Start a newer Colloquy/);
    expect(onFatal).not.toHaveBeenCalled();
  });

  it.each([
    ["empty", "secret.key", "key"],
    ["empty", "colloquy.db-wal", "log"],
    ["missing", "colloquy.db-wal", "log"],
  ])("rejects an %s database beside %s, and changes neither", async (how, beside, content) => {
    mkdirSync(directory, { recursive: true });
    if (how === "empty") writeFileSync(join(directory, "colloquy.db"), "");
    writeFileSync(join(directory, beside), content);
    await expect(open()).rejects.toThrow(new RegExp(`is ${how}.*${beside} beside it.*Restore a backup`));
    expect(() => inspectSqlite(directory)).toThrow(/Restore a backup/);
    expect(readFileSync(join(directory, beside), "utf8")).toBe(content);
  });

  it("starts on an empty file that an interrupted first start left", async () => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "colloquy.db"), "");
    const store = await open();
    await expect(store.probe()).resolves.toBeUndefined();
    await store.close();
  });

  it("rejects a call whose values cannot be stored, and completes the others", async () => {
    const store = await open(null);
    const turn = identityOf(await startTurn(store, randomUUID(), "hello"));
    const strange = { when: () => 1 } as never;
    const [progress, opened, found] = await Promise.allSettled([
      store.execute({ kind: "toolProgress", target: { turn }, input: { callId: "c", progress: strange } }),
      store.execute({ kind: "open", target: target("a"), input: NOTHING }),
      store.sessions.find("a"),
    ]);
    expect(progress.status).toBe("rejected");
    expect(opened).toMatchObject({ status: "fulfilled", value: { created: true } });
    expect(found).toMatchObject({ status: "fulfilled", value: { id: "a" } });
    await store.close();
  });

  it("reports the cause when a call fails because of a bug", async () => {
    const store = await open(null);
    const turn = identityOf(await startTurn(store, randomUUID(), "hello"));
    await store.execute({
      kind: "stepWithCalls",
      target: { turn },
      input: { step: step(1, ""), calls: [], actions: [] },
    });
    await expect(
      store.execute({ kind: "complete", target: { turn }, input: { step: step(1, "") } }),
    ).rejects.toThrow(/UNIQUE constraint failed: steps/);
    await store.close();
  });

  it("exits when its thread dies, and rejects pending and later calls", async () => {
    const posted = vi.spyOn(Worker.prototype, "postMessage");
    const store = await open(null);
    await store.probe();
    const worker = posted.mock.contexts[0] as Worker;
    const begun = store.probe();
    await worker.terminate();
    await expect(begun).rejects.toMatchObject({ status: 503, code: "store_closed" });
    await expect(store.probe()).rejects.toMatchObject({ status: 503 });
    expect(onFatal).toHaveBeenCalledOnce();
    await store.close();
  });

  it("keeps the WAL short, even if calls suddenly write much more than before", async () => {
    const store = await open();
    const sizes: number[] = [];
    const write = async (length: number) => {
      const batch = Array.from({ length: 100 }, () => chat(store, randomUUID(), "x".repeat(length)));
      await Promise.all(batch);
      sizes.push(statSync(join(directory, "colloquy.db-wal")).size);
    };
    for (let round = 0; round < 60; round += 1) await write(10);
    for (let round = 0; round < 30; round += 1) await write(20_000);
    for (let round = 0; round < 30; round += 1) await write(10);
    expect(statSync(join(directory, "colloquy.db")).size).toBeGreaterThan(100_000_000);
    expect(Math.max(...sizes)).toBeLessThan(50_000_000);
    expect(sizes.at(-1)).toBeLessThan(20_000_000);
    await store.close();
  });

  it("has every acknowledged message after its process is killed", async () => {
    for (let round = 0; round < 3; round += 1) {
      const child = spawn(process.execPath, [PROGRAM, directory, "chat"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const acknowledged: string[] = [];
      const lines = createInterface(child.stdout);
      lines.on("line", (line) => {
        const [word, id] = line.split(" ");
        if (word === "acknowledged" && id !== undefined) acknowledged.push(id);
        if (acknowledged.length === 200 * (round + 1)) child.kill("SIGKILL");
      });
      await once(lines, "close");
      expect(acknowledged.length).toBeGreaterThanOrEqual(200 * (round + 1));
      const store = await open();
      for (const id of acknowledged) {
        const messages = await messagesOf(store, id);
        expect(messages.map(({ content }) => content)).toEqual([`message of ${id}`]);
      }
      await store.close();
    }
  });

  it("gives 507 when files cannot grow, and keeps reading", async () => {
    const limited = 'ulimit -f 2000; exec "$0" "$@"';
    const child = spawn("sh", ["-c", limited, process.execPath, PROGRAM, directory, "fill"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const said: string[] = [];
    const lines = createInterface(child.stdout);
    lines.on("line", (line) => said.push(line));
    await once(lines, "close");
    expect(said.slice(1)).toEqual(["refused_with 507 insufficient_storage 30", "read 1 2 true 0"]);
    // Everything works again once there is space.
    const store = await open();
    await chat(store, randomUUID(), "x".repeat(5000));
    await store.close();
  });
});
