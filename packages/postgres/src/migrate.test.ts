import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useDatabase } from "../../server/test/use-postgres.ts";
import { readMigrations, type Migration } from "@colloquy/engine/internal/store/migrations";
import { splitMigration } from "./migrate.ts";
import { Connections } from "./connections.ts";
import { migrate } from "./migrate.ts";

const OURS = readMigrations(join(import.meta.dirname, "migrations"));

function migration(version: number, sql: string): Migration {
  return { version, name: `000${version}_test.sql`, sql };
}

it("migrations have the same numbers and meanings as those of SQLite", () => {
  const theirs = readMigrations(join(import.meta.dirname, "../../engine/src/store/sqlite/migrations"));
  expect(OURS.map(({ name }) => name)).toEqual(theirs.map(({ name }) => name));
});

it("indexes of tables that may be large are built concurrently", () => {
  // Migrations before the first version with a PostgreSQL store never ran on existing rows.
  for (const { name, sql } of OURS.slice(2)) {
    const own = new Set(
      Array.from(sql.matchAll(/^CREATE (?:UNLOGGED )?TABLE (\w+)/gm), ([, table]) => table),
    );
    const { transaction } = splitMigration(sql);
    const indexed = Array.from(transaction.matchAll(/\bINDEX \w+ ON (\w+)/g), ([, table]) => table);
    expect({ name, others: indexed.filter((table) => !own.has(table)) }).toEqual({ name, others: [] });
  }
});

describe.skipIf(await isWithoutPostgres())("migrate", () => {
  const database = useDatabase("nothing");
  let connections: Connections;
  beforeEach(() => void (connections = database.connect()));

  const applied = () => database.query("SELECT version, name FROM schema_migrations ORDER BY version");
  const tables = async () => {
    const rows = await database.query(
      "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations' ORDER BY 1",
    );
    return rows.map((row) => row["tablename"]);
  };

  it("runs pending migrations in order, and records them", async () => {
    const first = migration(1, "CREATE TABLE a (x integer)");
    const second = migration(2, "ALTER TABLE a RENAME TO b");
    await migrate(connections, [first]);
    await migrate(connections, [first, second]);
    await migrate(connections, [first, second]);
    expect(await tables()).toEqual(["b"]);
    expect(await applied()).toEqual([
      { version: 1, name: "0001_test.sql" },
      { version: 2, name: "0002_test.sql" },
    ]);
  });

  it("runs each migration once when five processes start at the same time, even if it is slow", async () => {
    const slow = migration(
      OURS.length + 1,
      "SELECT pg_sleep(5.5); CREATE TABLE slow (x integer); INSERT INTO slow VALUES (1)",
    );
    const nodes = Array.from({ length: 5 }, () => new Connections({ url: database.url, statementMs: 5000 }));
    try {
      await Promise.all(nodes.map((node) => migrate(node, [...OURS, slow])));
    } finally {
      await Promise.all(nodes.map((node) => node.end()));
    }
    expect((await applied()).map(({ version }) => version)).toEqual(
      [...OURS, slow].map(({ version }) => version),
    );
    expect(await database.query("SELECT x FROM slow")).toEqual([{ x: 1 }]);
  });

  it("rolls back a failing migration", async () => {
    const broken = migration(2, "CREATE TABLE b (x integer); INSERT INTO nowhere VALUES (1)");
    const first = migration(1, "CREATE TABLE a (x integer)");
    await expect(migrate(connections, [first, broken])).rejects.toThrow(/nowhere/);
    expect(await tables()).toEqual(["a"]);
    await migrate(connections, [first, migration(2, "CREATE TABLE b (x integer)")]);
    expect(await tables()).toEqual(["a", "b"]);
  });

  it("does not block others behind it while the table that it changes is being read", async () => {
    const first = migration(1, "CREATE TABLE a (x integer)");
    const change = migration(2, "ALTER TABLE a ADD COLUMN y integer");
    await migrate(connections, [first]);
    let migrating = Promise.resolve();
    await database.holding("SELECT x FROM a", async () => {
      migrating = migrate(connections, [first, change]);
      await database.untilWaiting();
      // After the migration, without waiting for the reader.
      expect(await database.query("SELECT x FROM a")).toEqual([]);
    });
    await migrating;
    expect(await database.query("SELECT x, y FROM a")).toEqual([]);
  });

  describe("that builds an index concurrently", () => {
    const first = migration(1, "CREATE TABLE a (x integer)");
    const indexed = migration(
      2,
      "ALTER TABLE a ADD COLUMN y integer;\nCREATE INDEX CONCURRENTLY a_by_x ON a (x);",
    );
    const valid = async () => {
      const rows = await database.query(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('a_by_x')",
      );
      return rows.map(({ indisvalid }) => indisvalid);
    };
    /** Runs only the transaction of the second migration. */
    const beforeIndex = () =>
      migrate(connections, [first, { ...indexed, sql: splitMigration(indexed.sql).transaction }]);

    it("does not block writers behind a long transaction, and finishes after that transaction", async () => {
      await beforeIndex();
      let migrating = Promise.resolve();
      await database.holding("INSERT INTO a VALUES (1)", async () => {
        migrating = migrate(connections, [first, indexed]);
        await database.untilWaiting();
        await database.query("SET lock_timeout = 100; INSERT INTO a VALUES (2)");
        expect(await valid()).toEqual([false]);
      });
      await migrating;
      expect(await valid()).toEqual([true]);
      expect(await database.query("SELECT x FROM a")).toEqual([{ x: 2 }]);
    });

    it("rebuilds an interrupted index at the next start", async () => {
      await beforeIndex();
      await database.holding("INSERT INTO a VALUES (1)", async () => {
        const broken = migrate(connections, [first, indexed]).catch((error: unknown) => error);
        await database.untilWaiting();
        await database.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY a_by_x%'",
        );
        expect(await broken).toBeInstanceOf(Error);
      });
      expect(await valid()).toEqual([false]);
      await migrate(connections, [first, indexed]);
      expect(await valid()).toEqual([true]);
      expect((await applied()).map(({ version }) => version)).toEqual([1, 2]);
    });

    it("is awaited by nodes that start in the meantime, and does not wait for them", async () => {
      await beforeIndex();
      const nodes = [1, 2].map(() => new Connections({ url: database.url }));
      const starting: Promise<void>[] = [];
      const looks =
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_%advisory%lock%' AND pid <> pg_backend_pid()";
      try {
        await database.holding("INSERT INTO a VALUES (1)", async () => {
          starting.push(migrate(nodes[0]!, [first, indexed]));
          await database.untilWaiting();
          starting.push(migrate(nodes[1]!, [first, indexed]));
          while ((await database.query(looks)).length === 0);
        });
        await Promise.all(starting);
      } finally {
        await Promise.all(nodes.map((node) => node.end()));
      }
      expect(await valid()).toEqual([true]);
      await database.untilDeserted();
      const deadlocks = "SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()";
      expect(await database.query(deadlocks)).toEqual([{ deadlocks: 0 }]);
    });

    it("does not rebuild an index that a later migration has removed", async () => {
      const dropped = migration(3, "DROP INDEX a_by_x");
      await migrate(connections, [first, indexed, dropped]);
      await migrate(connections, [first, indexed, dropped]);
      expect(await valid()).toEqual([]);
    });

    it("restores the usual timeouts of the connection", async () => {
      const one = new Connections({ url: database.url, connections: 1, statementMs: 1234 });
      try {
        await migrate(one, [first, indexed]);
        const limits = await one.use((connection) =>
          connection.query(
            "SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock",
          ),
        );
        expect(limits.rows).toEqual([{ statement: "1234ms", lock: "617ms" }]);
        const locks =
          "SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND datname = current_database()";
        expect(await database.query(locks)).toEqual([]);
      } finally {
        await one.end();
      }
    });
  });

  it("accepts a database one version ahead, and rejects a newer one", async () => {
    const three = [1, 2, 3].map((version) => migration(version, "SELECT 1"));
    await migrate(connections, three);
    await migrate(connections, three.slice(0, 2));
    await expect(migrate(connections, three.slice(0, 1))).rejects.toThrow(
      "The database has schema version 3, but this version of Colloquy knows versions up to 1. " +
        "Start a newer Colloquy on it, or restore a backup from before the upgrade.",
    );
  });

  it("marks turns queued behind one that waits for a person in a database of the previous version", async () => {
    await migrate(connections, OURS.slice(0, 2));
    await database.query(`INSERT INTO turns (session_key, number, state, user_position, attempts, steps, epoch, runnable, usage, enqueued_at)
       VALUES (1, 1, 'waiting', 1, 0, 0, 0, 0, '{}', 1), (1, 2, 'queued', 1, 0, 0, 0, 0, '{}', 1),
              (2, 1, 'running', 1, 0, 0, 0, 0, '{}', 1), (2, 2, 'queued', 1, 0, 0, 0, 0, '{}', 1)`);
    await migrate(connections, OURS);
    const behind = await database.query(
      "SELECT session_key::integer, number::integer FROM turns WHERE behind_waiting = 1",
    );
    expect(behind).toEqual([{ session_key: 1, number: 2 }]);
  });

  it("leaves the sizes of existing sessions to the cleanup, and only adds columns to them", async () => {
    await migrate(connections, OURS.slice(0, 4));
    await database.query(
      `INSERT INTO sessions (key, id, life, title, title_source, status, model, model_chosen, public_key, head, message_count, turn_count, epoch, created_at, updated_at, used_at, retention)
         VALUES (1, 'full', 'a', 'New Chat', 'placeholder', 'idle', 'm', 0, 'w', 2, 1, 1, 0, 1, 1, 1, 2),
                (2, 'empty', 'b', 'New Chat', 'placeholder', 'idle', 'm', 0, 'w', 0, 0, 0, 0, 1, 1, 1, 2),
                (3, 'titled', 'c', 'Mine', 'user', 'idle', 'm', 0, 'w', 0, 0, 0, 0, 1, 1, 1, 2);
       INSERT INTO messages (session_key, position, id, turn, role, status, created_at, tool_calls, content)
         VALUES (1, 1, 'x', 1, 'user', 'complete', 1, '[1]', 'ü');
       INSERT INTO events (session_key, number, at, payload) VALUES (1, 1, 1, '{}'), (1, 2, 1, '"ü"')`,
    );
    await migrate(connections, OURS);
    const rows = await database.query(
      "SELECT id, message_bytes::integer, event_bytes::integer, retention FROM sessions ORDER BY key",
    );
    expect(rows).toEqual([
      { id: "full", message_bytes: null, event_bytes: null, retention: 2 },
      { id: "empty", message_bytes: null, event_bytes: null, retention: 2 },
      { id: "titled", message_bytes: null, event_bytes: null, retention: 2 },
    ]);
  });

  it("accepts writes of the previous version, which does not know the new columns", async () => {
    await migrate(connections, OURS);
    await database.query(`INSERT INTO turns (session_key, number, state, user_position, attempts, steps, epoch, runnable, usage, enqueued_at)
       VALUES (1, 1, 'running', 1, 1, 0, 1, 0, '{}', 1);
       INSERT INTO leases (session_key, owner, epoch, expires_at) VALUES (1, 'before', 1, 10)`);
    expect(
      await database.query(
        `SELECT behind_waiting, ran_ms::integer, model, started_at, attempt_at, taken_at FROM turns JOIN leases USING (session_key)`,
      ),
    ).toEqual([
      { behind_waiting: 0, ran_ms: 0, model: null, started_at: null, attempt_at: null, taken_at: null },
    ]);
  });

  it("compares all text that is looked up or sorted by its bytes", async () => {
    await migrate(connections, OURS);
    const rows = await database.query(`SELECT DISTINCT c.relname || '.' || a.attname AS column
       FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey)
       JOIN pg_collation l ON l.oid = a.attcollation
       WHERE n.nspname = 'public' AND l.collname <> 'C'`);
    expect(rows).toEqual([]);
  });
});
