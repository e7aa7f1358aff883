import { join } from "node:path";
import { constants, DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Migration, readMigrations } from "../migrations.ts";
import type { FoundPart, IndexedBatch, SearchQuery } from "../../core/ports/driven/search-store.ts";
import { ANONYMOUS } from "../../core/session-access.ts";
import { migrate, prepareIn } from "./database.ts";
import { prepareMethods } from "./methods.ts";
import { prepareTransaction } from "./transaction.ts";

const OURS = readMigrations(join(import.meta.dirname, "migrations"));

function migration(version: number, sql: string): Migration {
  return { version, name: `000${version}_test.sql`, sql };
}

describe("migrate", () => {
  let database: DatabaseSync;
  beforeEach(() => {
    database = new DatabaseSync(":memory:");
  });
  afterEach(() => database.close());

  const applied = () =>
    database.prepare("SELECT version, name, applied_at FROM schema_migrations ORDER BY version").all();
  const tables = () =>
    database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations'")
      .all()
      .map((row) => row["name"]);

  it("runs pending migrations in order, and records them", () => {
    const first = migration(1, "CREATE TABLE a (x INTEGER) STRICT;");
    const second = migration(2, "ALTER TABLE a RENAME TO b;");
    migrate(database, [first], 5);
    migrate(database, [first, second], 7);
    migrate(database, [first, second], 9);
    expect(tables()).toEqual(["b"]);
    expect(applied()).toMatchObject([
      { version: 1, name: "0001_test.sql", applied_at: 5 },
      { version: 2, name: "0002_test.sql", applied_at: 7 },
    ]);
  });

  it("rolls back a failing migration", () => {
    const broken = migration(2, "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO nowhere VALUES (1);");
    const first = migration(1, "CREATE TABLE a (x INTEGER) STRICT;");
    expect(() => migrate(database, [first, broken], 5)).toThrow(/nowhere/);
    expect(tables()).toEqual(["a"]);
    expect(applied()).toHaveLength(1);
    migrate(database, [first, migration(2, "CREATE TABLE b (x INTEGER) STRICT;")], 6);
    expect(tables()).toEqual(["a", "b"]);
  });

  it("accepts a database one version ahead, and rejects a newer one", () => {
    migrate(database, [migration(1, "SELECT 1;"), migration(2, "SELECT 1;"), migration(3, "SELECT 1;")], 5);
    migrate(database, [migration(1, "SELECT 1;"), migration(2, "SELECT 1;")], 6);
    expect(() => migrate(database, [migration(1, "SELECT 1;")], 7)).toThrow(
      "The database has schema version 3, but this version of Colloquy knows versions up to 1. " +
        "Start a newer Colloquy on it, or restore a backup from before the upgrade.",
    );
  });

  it("marks turns queued behind one that waits for a person in a database of the previous version", () => {
    migrate(database, OURS.slice(0, 2), 5);
    const insert = database.prepare(
      `INSERT INTO turns (session_key, number, state, user_position, attempts, steps, epoch, runnable, usage, enqueued_at)
       VALUES (?, ?, ?, 1, 0, 0, 0, 0, '{}', 1)`,
    );
    insert.run(1, 1, "waiting");
    insert.run(1, 2, "queued");
    insert.run(2, 1, "running");
    insert.run(2, 2, "queued");
    migrate(database, OURS, 6);
    const behind = database.prepare("SELECT session_key, number FROM turns WHERE behind_waiting = 1").all();
    expect(behind).toMatchObject([{ session_key: 1, number: 2 }]);
  });

  it("leaves the sizes of existing sessions to the cleanup, and only adds columns to them", () => {
    migrate(database, OURS.slice(0, 4), 5);
    database.exec(
      `INSERT INTO sessions (key, id, life, title, title_source, status, model, model_chosen, public_key, head, message_count, turn_count, epoch, created_at, updated_at, used_at, retention)
         VALUES (1, 'full', 'a', 'New Chat', 'placeholder', 'idle', 'm', 0, 'w', 2, 1, 1, 0, 1, 1, 1, 2),
                (2, 'empty', 'b', 'New Chat', 'placeholder', 'idle', 'm', 0, 'w', 0, 0, 0, 0, 1, 1, 1, 2),
                (3, 'titled', 'c', 'Mine', 'user', 'idle', 'm', 0, 'w', 0, 0, 0, 0, 1, 1, 1, 2);
       INSERT INTO messages (session_key, position, id, turn, role, status, created_at, tool_calls, content)
         VALUES (1, 1, 'x', 1, 'user', 'complete', 1, '[1]', 'ü');
       INSERT INTO events (session_key, number, at, payload) VALUES (1, 1, 1, '{}'), (1, 2, 1, '"ü"')`,
    );
    migrate(database, OURS, 6);
    const rows = database
      .prepare("SELECT id, message_bytes, event_bytes, retention FROM sessions ORDER BY key")
      .all();
    expect(rows).toMatchObject([
      { id: "full", message_bytes: null, event_bytes: null, retention: 2 },
      { id: "empty", message_bytes: null, event_bytes: null, retention: 2 },
      { id: "titled", message_bytes: null, event_bytes: null, retention: 2 },
    ]);
  });

  describe("the index for search", () => {
    const ADD = `INSERT INTO messages (session_key, position, id, turn, role, status, created_at, content)`;
    const insertSessions = (): void =>
      database.exec(
        `INSERT INTO sessions (key, id, life, title, title_source, status, model, model_chosen, head, message_count, turn_count, epoch, created_at, updated_at, used_at, retention)
           VALUES (1, 'old', 'a', 'Old', 'user', 'idle', 'm', 0, 2, 250, 1, 0, 1, 1, 1, 1),
                  (2, 'new', 'b', 'New', 'user', 'idle', 'm', 0, 2, 1, 1, 0, 1, 1, 1, 1)`,
      );
    const methods = () => {
      const prepare = prepareIn(database);
      const all = prepareMethods(prepare, prepareTransaction(prepare));
      const search = (query: Pick<SearchQuery, "sessions" | "words"> & Partial<SearchQuery>) =>
        all.get("search.find")?.(
          1,
          ...([{ before: null, limit: 1000, ...query }] as never[]),
        ) as readonly FoundPart[];
      return {
        index: () => all.get("search.index")?.(1) as IndexedBatch,
        isDue: () => all.get("search.isDue")?.(1),
        search,
        find: (word: string, id: string) =>
          search({
            sessions: { kind: "session", id, access: ANONYMOUS },
            words: [{ word, isPrefix: false }],
          }),
      };
    };

    it("gets the messages of a database of the previous version in batches, new ones first", () => {
      migrate(database, OURS.slice(0, 5), 5);
      insertSessions();
      database.exec(
        `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 250)
         ${ADD} SELECT 1, n, 'message ' || n, 1, 'user', 'complete', n, 'the word ' || n FROM numbers`,
      );
      migrate(database, OURS, 6);
      const { index, find } = methods();
      expect(find("word", "old")).toEqual([]);
      database.exec(`${ADD} VALUES (2, 1, 'x', 1, 'user', 'complete', 1, 'the word anew')`);
      expect(index()).toEqual({ messages: 32, removed: 0, hasMore: true });
      expect(find("anew", "new")).toHaveLength(1);
      for (let batch = 2; batch <= 7; batch += 1)
        expect(index()).toEqual({ messages: 32, removed: 0, hasMore: true });
      expect(index()).toEqual({ messages: 251 - 7 * 32, removed: 0, hasMore: false });
      expect(find("word", "old")).toHaveLength(250);
      expect(find("250", "old")).toMatchObject([{ messageId: "message 250", text: "the word 250" }]);
      expect(index()).toEqual({ messages: 0, removed: 0, hasMore: false });
    });

    it("follows writes of the previous version, which knows nothing of it", () => {
      migrate(database, OURS, 5);
      insertSessions();
      const { index, find } = methods();
      database.exec(`${ADD} VALUES (1, 1, 'x', 1, 'assistant', 'streaming', 1, 'half a')`);
      expect(index()).toMatchObject({ messages: 0 });
      database.exec("UPDATE messages SET content = 'a whole answer', status = 'complete'");
      expect(index()).toMatchObject({ messages: 1 });
      expect(find("whole", "old")).toHaveLength(1);
      database.exec("UPDATE messages SET content = 'another answer'");
      expect(find("whole", "old")).toEqual([]);
      index();
      expect(find("another", "old")).toHaveLength(1);
      database.exec("DELETE FROM messages; DELETE FROM sessions");
      expect(find("another", "old")).toEqual([]);
      expect(index()).toEqual({ messages: 0, removed: 1, hasMore: false });
      const left = (table: string) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"];
      expect([left("search_documents"), left("search_jobs")]).toEqual([0, 0]);
      database.exec("INSERT INTO search_index (search_index, rank) VALUES ('integrity-check', 1)");
    });

    it("finds a rare prefix behind the candidates that are compared first, and a frequent one among them", () => {
      migrate(database, OURS, 5);
      insertSessions();
      database.exec(
        `UPDATE sessions SET owned_by = 'ada';
         WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1200)
         ${ADD} SELECT 1, n, 'message ' || n, 1, 'user', 'complete', n,
           CASE WHEN n % 600 = 0 THEN 'a needle in hay' ELSE 'haystack in hay' END FROM numbers`,
      );
      const { index, search } = methods();
      while (index().hasMore);
      const user = { owner: "ada", apps: ["default"], takesNew: true };
      const owned = { kind: "user", access: { apps: ["default"], user } } as const;
      const alone = { kind: "session", id: "old", access: { apps: null, user } } as const;
      for (const sessions of [owned, alone]) {
        expect(search({ sessions, words: [{ word: "need", isPrefix: true }] })).toHaveLength(2);
        const both = [
          { word: "hay", isPrefix: false },
          { word: "need", isPrefix: true },
        ];
        expect(search({ sessions, words: both })).toMatchObject([
          { messageId: "message 1200" },
          { messageId: "message 600" },
        ]);
        expect(search({ sessions, words: [{ word: "hays", isPrefix: true }] })).toHaveLength(1000);
        expect(search({ sessions, words: [{ word: "hays", isPrefix: true }], limit: 3 })).toMatchObject([
          { messageId: "message 1199" },
          { messageId: "message 1198" },
          { messageId: "message 1197" },
        ]);
      }
    });

    it("deletes the words of removed messages a few at a time, because each takes long", () => {
      migrate(database, OURS, 5);
      insertSessions();
      const { index, isDue } = methods();
      database.exec(
        `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 40)
         ${ADD} SELECT 1, n, 'message ' || n, 1, 'user', 'complete', n, 'the word ' || n FROM numbers`,
      );
      while (index().hasMore);
      database.exec("DELETE FROM messages");
      expect(isDue()).toBe(true);
      expect([index(), index(), index()].map(({ removed }) => removed)).toEqual([16, 16, 8]);
      expect(isDue()).toBe(false);
    });
  });

  it("accepts writes of the previous version, which does not know the new columns", () => {
    migrate(database, OURS, 5);
    database.exec(
      `INSERT INTO turns (session_key, number, state, user_position, attempts, steps, epoch, runnable, usage, enqueued_at)
       VALUES (1, 1, 'running', 1, 1, 0, 1, 0, '{}', 1);
       INSERT INTO leases (session_key, owner, epoch, expires_at) VALUES (1, 'before', 1, 10)`,
    );
    const row = database
      .prepare(
        "SELECT behind_waiting, ran_ms, model, started_at, attempt_at, taken_at FROM turns JOIN leases USING (session_key)",
      )
      .get();
    expect(row).toMatchObject({
      behind_waiting: 0,
      ran_ms: 0,
      model: null,
      started_at: null,
      attempt_at: null,
      taken_at: null,
    });
  });

  it("makes every table STRICT", () => {
    migrate(database, OURS, 5);
    const loose = database
      .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0")
      .all();
    expect(loose.map((row) => row["name"])).toEqual(["sqlite_schema"]);
  });
});

describe("a statement", () => {
  it("is compiled once, whatever the parameters of its LIMIT", () => {
    const database = new DatabaseSync(":memory:");
    database.exec("CREATE TABLE a (x INTEGER PRIMARY KEY) STRICT; INSERT INTO a VALUES (1), (2), (3)");
    const prepare = prepareIn(database);
    const page = prepare<[number, number], { readonly x: number }>(
      "SELECT x FROM a ORDER BY x LIMIT ? OFFSET ?",
    );
    const numbered = prepare<[number], { readonly x: number }>("SELECT x FROM a LIMIT ?1");
    const compiled = vi.fn<() => number>(() => constants.SQLITE_OK);
    database.setAuthorizer(compiled);
    const read = (limit: number, offset: number) => [page.all(limit, offset), numbered.all(limit)];
    // An authorizer expires all statements.
    read(1, 0);
    compiled.mockClear();
    expect(read(2, 1)).toEqual([
      [{ x: 2 }, { x: 3 }],
      [{ x: 1 }, { x: 2 }],
    ]);
    expect(compiled).not.toHaveBeenCalled();
    database.close();
  });
});
