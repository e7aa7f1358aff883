import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Migration, readMigrations } from "../migrations.ts";
import { migrate } from "./database.ts";

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
      .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict = 0")
      .all();
    expect(loose.map((row) => row["name"])).toEqual(["sqlite_schema"]);
  });
});
