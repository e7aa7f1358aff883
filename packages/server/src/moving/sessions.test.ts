// Export from one store and import into another.

import { Readable } from "node:stream";
import { memoryFiles } from "@colloquy/engine/internal/files/memory";
import { randomUUID } from "node:crypto";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { isWithoutPostgres } from "../../test/postgres-server.ts";
import { usePostgres } from "../../test/use-postgres.ts";
import type { TableAccess, TableStore } from "@colloquy/engine/internal/core/ports/driven/table-store";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { existing, load, NOTHING, record, target } from "@colloquy/testing/internal/store/fixtures/scenario";
import { type DatabaseAddress, withTables } from "./database-address.ts";
import { exportSessions } from "./export.ts";
import { claimAll, DRAWN, FILE, type Filled, fillStore, WALLET } from "./testing/filled-store.ts";
import { type ImportedSession, importSessions } from "./import.ts";
import { serversAt } from "./testing/opened-store.ts";
import { computedColumns, KINDS } from "./session-format.ts";

/** Tables of sessions that are not exported, with the reason. */
const NOT_EXPORTED: Readonly<Record<string, string>> = {
  events: "an imported session starts a new incarnation, so no subscriber can resume in it",
  leases: "no process works on the imported session yet",
};

const clock = new ManualClock();
const withStore = serversAt(clock);
let root: string;
let here: DatabaseAddress;
/** Data directory that each test copies, and the contents of its store. */
let template: string;
let filled: Filled;
beforeAll(async () => {
  template = await mkdtemp(join(tmpdir(), "colloquy-sessions-"));
  filled = await withStore({ kind: "sqlite", directory: template }, (store) => fillStore(store));
});
beforeAll(async () => {
  for (const { blob, content } of [FILE, DRAWN]) await files.put(blob, Readable.from([content]));
});
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "colloquy-sessions-"));
  here = { kind: "sqlite", directory: join(root, "here") };
  await cp(template, here.directory, { recursive: true });
});
afterEach(() => rm(root, { recursive: true }));
afterAll(() => rm(template, { recursive: true }));

/** Bytes of files, shared by all databases of this test. */
const files = memoryFiles();

function on<Result>(
  address: DatabaseAddress,
  work: (store: TableStore) => Promise<Result>,
  access: TableAccess = "beside",
): Promise<Result> {
  return withTables(address, { access, at: clock.now() }, work);
}

async function exported(address: DatabaseAddress, where: Parameters<typeof exportSessions>[1]) {
  const lines: string[] = [];
  await on(address, (store) =>
    exportSessions(store, where, clock.now(), {
      files,
      write: async (text) => {
        expect(text.endsWith("\n")).toBe(true);
        lines.push(text.slice(0, -1));
        await Promise.resolve();
      },
    }),
  );
  return lines;
}

const session = (id: string) => exported(here, { column: "id", value: id });

async function* each(lines: readonly string[]): AsyncGenerator<string> {
  await Promise.resolve();
  yield* lines;
}

async function imported(address: DatabaseAddress, lines: readonly string[], replace = false) {
  const outcomes: ImportedSession[] = [];
  await on(address, (store) =>
    importSessions(store, each(lines), {
      replace,
      at: clock.now(),
      files,
      onSession: (one) => outcomes.push(one),
    }),
  );
  return outcomes;
}

/** Returns the client-visible state of a session, without ids of its incarnation. */
async function seen(store: Store, id: string) {
  const { session, messages, systemEvents } = await load(store, id);
  const { key: _key, incarnation: _life, epoch: _epoch, eventBytes: _log, ...rest } = session;
  const actions = await store.actions.list(id, 100);
  return { session: rest, messages, systemEvents, actions };
}

/** Returns the address of an empty database. */
async function empty(name = "there"): Promise<DatabaseAddress> {
  const address: DatabaseAddress = { kind: "sqlite", directory: join(root, name) };
  await withStore(address, () => Promise.resolve());
  return address;
}

describe("an export", () => {
  it("has a format line, the lines of a session and an end line", async () => {
    const lines = (await session(filled.done)).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toEqual({
      format: "colloquy-sessions",
      version: 1,
      exported_at: new Date(clock.now()).toISOString(),
    });
    expect(lines[1]).toMatchObject({ kind: "session", id: filled.done, user_state: { a: {}, b: 1 } });
    expect(lines.at(-2)).toEqual({ kind: "end", id: filled.done, lines: lines.length - 3 });
    expect(lines.at(-1)).toEqual({ kind: "done", sessions: 1 });
    const kinds = new Set(lines.map(({ kind }) => kind));
    expect([...kinds]).toEqual(
      expect.arrayContaining(["message", "turn", "step", "idempotency_key"]) as unknown[],
    );
    expect(lines.find(({ kind }) => kind === "message")).not.toHaveProperty("session_key");
  });

  it("contains only the sessions of a wallet if requested", async () => {
    const lines = await exported(here, { column: "public_key", value: WALLET });
    const ids = lines
      .map((line) => JSON.parse(line) as { kind?: string; id: string })
      .flatMap(({ kind, id }) => (kind === "session" ? [id] : []));
    expect(ids.toSorted()).toEqual([filled.done, filled.running].toSorted());
  });

  it("has every column of every table with session data, except the excluded ones", () =>
    on(here, (store) => {
      const ofSessions = store.tables.filter(
        ({ name, columns }) => name === "sessions" || columns.some((column) => column.name === "session_key"),
      );
      const kinds = Object.values(KINDS);
      for (const { name, columns } of ofSessions) {
        if (name in NOT_EXPORTED) continue;
        const kind = kinds.find(({ table }) => table === name);
        const names = new Set(Object.keys(kind?.line.shape ?? {}));
        const left = computedColumns(name);
        const missing = columns.filter((column) => !names.has(column.name) && !left.includes(column.name));
        expect({ name, missing }).toEqual({ name, missing: [] });
        names.delete("kind");
        // The bytes of a file are not in its table.
        names.delete("content");
        expect(columns.map((column) => column.name)).toEqual(expect.arrayContaining([...names]));
      }
      return Promise.resolve();
    }));
});

describe("an import", () => {
  it("restores the session as a new incarnation that can continue", async () => {
    const there = await empty();
    for (const id of filled.all) {
      const lines = await session(id);
      expect(await imported(there, lines)).toEqual([{ id, line: 2, outcome: "imported", problem: null }]);
      const before = await withStore(here, (store) => seen(store, id));
      expect(await withStore(there, (store) => seen(store, id))).toEqual(before);
      const old = await withStore(here, (store) => record(store, id));
      expect((await withStore(there, (store) => record(store, id))).incarnation).not.toBe(old.incarnation);
      const again = await exported(there, { column: "id", value: id });
      expect(again.slice(1)).toEqual(lines.slice(1));
    }
    await withStore(there, async (store) => {
      const claimed = await claimAll(store);
      expect(claimed.map((one) => one.session.id).toSorted()).toEqual(
        [filled.running, filled.queued].toSorted(),
      );
      const [action] = (await store.actions.list(filled.waiting, 10)) ?? [];
      expect(action).toMatchObject({ status: "pending" });
    });
  });

  it("keeps the spelling of a session id, even if its session replaces another one", async () => {
    const id = randomUUID();
    const spelling = id.toUpperCase();
    const born = { ...target(id), birth: { ...target(id).birth, spelling } };
    await withStore(here, (store) => store.execute({ kind: "open", target: born, input: NOTHING }));
    const lines = await session(id);
    expect(JSON.parse(lines[1]!)).toMatchObject({ kind: "session", id, spelling });
    const there = await empty();
    const spellingThere = () => withStore(there, async (store) => (await record(store, id)).spelling);
    expect(await imported(there, lines)).toMatchObject([{ id, outcome: "imported", problem: null }]);
    expect(await spellingThere()).toBe(spelling);
    await withStore(there, async (store) => {
      await store.execute({ kind: "delete", target: existing(id), input: null });
      await store.execute({ kind: "open", target: target(id), input: NOTHING });
    });
    expect(await spellingThere()).toBe(id);
    expect(await imported(there, lines, true)).toMatchObject([{ outcome: "replaced" }]);
    expect(await spellingThere()).toBe(spelling);
    expect((await exported(there, { column: "id", value: id })).slice(1)).toEqual(lines.slice(1));
  });

  it("accepts an export of an earlier version, which lacks newer columns", async () => {
    const newer: Readonly<Record<string, readonly string[]>> = {
      session: ["spelling", "model_app", "owned_by", "archived"],
      message: ["summary"],
      turn: ["model", "started_at"],
    };
    const lines = (await session(filled.done)).map((line) => {
      const value = JSON.parse(line) as Record<string, unknown>;
      const names = newer[String(value["kind"])] ?? [];
      expect(Object.keys(value)).toEqual(expect.arrayContaining([...names]));
      return JSON.stringify(
        Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))),
      );
    });
    const there = await empty();
    expect(await imported(there, lines)).toMatchObject([{ outcome: "imported", problem: null }]);
    const turns = await withStore(there, (store) => store.admin.turns(filled.done, null, 10));
    expect(turns?.map(({ turn }) => turn)).toMatchObject([
      { state: "complete", model: null, startedAt: null, endedAt: expect.any(Number) as number },
    ]);
  });

  it.each([
    ["of messages", 1, FILE],
    ["of tools", 2, DRAWN],
  ])("keeps files %s, and rejects content that is not theirs", async (_, position, { blob, content }) => {
    const lines = await session(filled.done);
    const at = lines.findIndex(
      (line) => line.startsWith('{"kind":"file"') && line.includes(`"position":${position},`),
    );
    const line = JSON.parse(lines[at]!) as Record<string, unknown>;
    expect(line).toMatchObject({ position, content: content.toString("base64") });
    expect(line).not.toHaveProperty("blob");
    const there = await empty();
    expect(await imported(there, lines)).toMatchObject([{ outcome: "imported" }]);
    const found = (await withStore(there, (store) => store.files.find(filled.done, String(line["id"]))))
      ?.file;
    expect(found).toMatchObject({ name: line["name"], position, dueAt: null });
    expect(found?.blob).not.toBe(blob);
    const stored = await files.get(found!.blob, null);
    expect(Buffer.concat(await Array.fromAsync(stored!))).toEqual(content);
    const wrong = lines.with(at, JSON.stringify({ ...line, content: "AAAA" }));
    expect(await imported(await empty("other"), wrong)).toMatchObject([
      { outcome: "refused", line: at + 1, problem: expect.stringContaining("sha256") as string },
    ]);
    const lost = lines.with(at, JSON.stringify({ ...line, content: null }));
    expect(await imported(await empty("third"), lost)).toMatchObject([{ outcome: "imported" }]);
  });

  it("rejects an existing session unless it is to be replaced", async () => {
    const lines = await session(filled.done);
    await withStore(here, (store) =>
      store.execute({ kind: "edit", target: existing(filled.done), input: { title: "Renamed" } }),
    );
    expect(await imported(here, lines)).toMatchObject([
      { outcome: "refused", problem: expect.stringContaining("--replace") as string },
    ]);
    const title = async () => (await withStore(here, (store) => record(store, filled.done))).title;
    expect(await title()).toBe("Renamed");
    const old = await withStore(here, (store) => record(store, filled.done));
    expect(await imported(here, lines, true)).toMatchObject([{ outcome: "replaced" }]);
    expect(await title()).not.toBe("Renamed");
    const { key, incarnation } = await withStore(here, (store) => record(store, filled.done));
    expect(key).toBeGreaterThan(old.key);
    expect(incarnation).toMatch(/^[0-9a-f]{12}$/);
    expect(incarnation).not.toBe(old.incarnation);
    await imported(here, lines, true);
    expect((await withStore(here, (store) => record(store, filled.done))).incarnation).not.toBe(incarnation);
    // Nothing of the old incarnation is left.
    const left = await on(here, (store) =>
      store.read(async (reader) => {
        const where = { column: "session_key", value: old.key };
        const tables = store.tables.filter(({ columns }) =>
          columns.some(({ name }) => name === "session_key"),
        );
        const part = { after: null, rows: 1, characters: 1, where };
        return await Promise.all(tables.map((table) => reader.extract(table, part)));
      }),
    );
    expect(left.flat()).toEqual([]);
  });

  it("imports each session completely or not at all, independent of the others", async () => {
    const [first, second, third] = [
      await session(filled.done),
      await session(filled.running),
      await session(filled.waiting),
    ];
    const broken = second.slice(1).map((line) => line.replace('"role":"user"', '"role":"stranger"'));
    const wrong = broken.findIndex((line) => line.includes("stranger"));
    const there = await empty();
    const outcomes = await imported(there, [
      ...first.slice(0, -1),
      ...broken.slice(0, -1),
      ...third.slice(1),
    ]);
    expect(outcomes).toMatchObject([
      { id: filled.done, outcome: "imported" },
      {
        id: filled.running,
        line: first.length + wrong,
        outcome: "refused",
        problem: expect.stringContaining("role: ") as string,
      },
      { id: filled.waiting, outcome: "imported" },
    ]);
    expect(await withStore(there, (store) => store.sessions.find(filled.running))).toBeNull();
  });

  const lineWith = (lines: readonly string[], part: string) => lines.findIndex((line) => line.includes(part));
  const changed = (lines: readonly string[], part: string, change: (line: string) => string) =>
    lines.with(lineWith(lines, part), change(lines[lineWith(lines, part)] ?? ""));

  it.each<[string, (lines: readonly string[]) => readonly string[], RegExp]>([
    ["cut off", (lines) => lines.toSpliced(-2, 1), /before the session has ended/],
    ["without one of its lines", (lines) => lines.toSpliced(lineWith(lines, '"step"'), 1), /but there are/],
    [
      "with the same line twice",
      (lines) => lines.toSpliced(4, 0, lines[lineWith(lines, '"step"')] ?? ""),
      /but there are/,
    ],
    ["with half a line", (lines) => changed(lines, '"message"', (line) => line.slice(0, 40)), /valid JSON/],
    ["with a list for a line", (lines) => lines.with(3, "[]"), /JSON object/],
    [
      "with NUL in a text",
      (lines) => changed(lines, '"message"', (line) => line.replace("Gr", "\\u0000")),
      /NUL/,
    ],
    [
      "with an unknown kind",
      (lines) => changed(lines, '"message"', (line) => line.replace('"message"', '"masage"')),
      /kind "masage"/,
    ],
    [
      "with an unknown field",
      (lines) => changed(lines, '"session"', (line) => line.replace('"title"', '"titel"')),
      /titel|title/,
    ],
    [
      "with a wrong count",
      (lines) =>
        changed(lines, '"session"', (line) => line.replace(/"message_count":\d+/, '"message_count":7')),
      /not numbered 1 to 7/,
    ],
    [
      "with a turn beyond its count",
      (lines) => changed(lines, '"session"', (line) => line.replace(/"turn_count":\d+/, '"turn_count":0')),
      /not numbered once each up to 0/,
    ],
    [
      "with a step of a turn that it does not have",
      (lines) => changed(lines, '"kind":"step"', (line) => line.replace(/"turn":\d+/, '"turn":2')),
      /names turn 2, which does not exist/,
    ],
    [
      "with a message of a turn that it does not have",
      (lines) => changed(lines, '"kind":"message"', (line) => line.replace(/"turn":\d+/, '"turn":2')),
      /belongs to turn 2, which does not exist/,
    ],
    [
      "with a wrong status",
      (lines) =>
        changed(lines, '"session"', (line) => line.replace('"status":"idle"', '"status":"processing"')),
      /but its turns say otherwise/,
    ],
    [
      "with a turn of nobody",
      (lines) =>
        changed(lines, '"kind":"turn"', (line) => line.replace('"user_position":1', '"user_position":2')),
      /has no user message/,
    ],
    [
      "with a head before its events",
      (lines) => changed(lines, '"session"', (line) => line.replace(/"head":\d+/, '"head":0')),
      /beyond the head 0/,
    ],
  ])("rejects a session %s", async (_what, change, problem) => {
    const there = await empty();
    const id = _what.includes("head") ? filled.waiting : filled.done;
    const [outcome, ...others] = await imported(there, change(await session(id)));
    expect(others).toEqual([]);
    expect(outcome).toMatchObject({ outcome: "refused" });
    expect(outcome?.problem).toMatch(problem);
    expect(await withStore(there, (store) => store.sessions.find(id))).toBeNull();
  });

  it("rejects a session with a duplicate step, even if the number of lines is right", async () => {
    const lines = await session(filled.done);
    const step = lineWith(lines, '"kind":"step"');
    const twice = changed(lines.toSpliced(step, 0, lines[step] ?? ""), '"kind":"end"', (line) =>
      line.replace(/"lines":(\d+)/, (_all, count) => `"lines":${Number(count) + 1}`),
    );
    expect(await imported(await empty(), twice)).toMatchObject([
      {
        outcome: "refused",
        problem: expect.stringMatching(/two lines of kind step with the same turn and number/) as string,
      },
    ]);
  });

  it("reports an export that was cut off between two sessions", async () => {
    const there = await empty();
    expect(await imported(there, (await session(filled.done)).slice(0, -1))).toMatchObject([
      { id: filled.done, outcome: "imported" },
      { id: null, outcome: "refused", problem: expect.stringContaining("cut off") as string },
    ]);
  });

  it.each([
    [[], /input is empty/],
    [["{}"], /Line 1 is not the first line of an export/],
    [["hello"], /Line 1 is not the first line of an export/],
    [['{"format":"colloquy-sessions","version":2}'], /version 2 of the format.*reads version 1/],
  ])("rejects input that is not an export: %j", async (lines, problem) => {
    const there = await empty();
    await expect(imported(there, lines)).rejects.toThrow(problem);
  });

  it("works beside a running server", async () => {
    const there = await empty();
    const lines = await session(filled.done);
    await withStore(there, async (store) => {
      await imported(there, lines);
      const opened = await store.execute({
        kind: "open",
        target: existing(filled.done, true),
        input: NOTHING,
      });
      expect(opened?.loaded?.messages.length).toBeGreaterThan(1);
      await store.execute({ kind: "open", target: target(crypto.randomUUID()), input: NOTHING });
    });
  });
});

describe.skipIf(await isWithoutPostgres())("on PostgreSQL", () => {
  const server = usePostgres();

  it("restores sessions without differences after a round trip", async () => {
    const there: DatabaseAddress = { kind: "postgres", url: server.url(await server.createDatabase()) };
    for (const id of filled.all) {
      const lines = await session(id);
      await imported(there, lines);
      expect((await exported(there, { column: "id", value: id })).slice(1)).toEqual(lines.slice(1));
      expect(await imported(there, lines)).toMatchObject([{ outcome: "refused" }]);
      expect(await imported(there, lines, true)).toMatchObject([{ outcome: "replaced" }]);
    }
    await withStore(there, async (store) => {
      expect(await claimAll(store)).toHaveLength(2);
    });
  });
});
