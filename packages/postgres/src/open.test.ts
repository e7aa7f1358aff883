import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { usePostgres } from "../../server/test/use-postgres.ts";
import { examinePostgres } from "./inspection.ts";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import {
  chat,
  everything,
  startTurn,
  step,
  accessTo,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { openPostgresStore } from "./open.ts";
import { refusingToStart } from "./server-check.ts";

describe.skipIf(await isWithoutPostgres())("openPostgresStore", () => {
  const server = usePostgres();

  it("rejects an unreachable and a missing database", async () => {
    await expect(openPostgresStore({ url: "postgres://colloquy@127.0.0.1:1/none" })).rejects.toThrow(
      /ECONNREFUSED/,
    );
    await expect(openPostgresStore({ url: server.url("none") })).rejects.toThrow(/"none" does not exist/);
  });

  it("rejects a database with another encoding than UTF-8", async () => {
    const settings = "TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'";
    await server.query("postgres", `CREATE DATABASE ascii ${settings}`);
    await expect(openPostgresStore({ url: server.url("ascii") })).rejects.toThrow(/SQL_ASCII.*UTF8/);
  });

  it.each([
    ["sessions", "CREATE TABLE sessions (sid varchar PRIMARY KEY, sess json)"],
    ["schema_migrations", "CREATE TABLE schema_migrations (version varchar PRIMARY KEY)"],
  ])("rejects a table %s of another application, and changes nothing", async (table, sql) => {
    const database = await server.createDatabase();
    await server.query(database, sql);
    const message = new RegExp(`a table ${table} of another application.*CREATE DATABASE colloquy`);
    await expect(openPostgresStore({ url: server.url(database) })).rejects.toThrow(message);
    const tables =
      "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'";
    expect(await server.query(database, tables)).toEqual([{ relname: table }]);
  });

  it("rejects a database whose transactions are read-only", async () => {
    const database = await server.createDatabase();
    await server.query(database, `ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    await expect(openPostgresStore({ url: server.url(database) })).rejects.toThrow(
      /transactions are read-only.*default_transaction_read_only = off/,
    );
  });

  it.each(["sslrootcert", "sslcert", "sslkey"])(
    "rejects a missing file in %s, and names it",
    async (name) => {
      const url = `${server.url("none")}?sslmode=verify-full&${name}=/none/ca.pem`;
      await expect(openPostgresStore({ url })).rejects.toThrow(
        `${name}=/none/ca.pem cannot be used: there is no such file or directory. Put the certificate there`,
      );
    },
  );

  it("warns of a user who may open fewer connections than a node needs, and the doctor says the same", async () => {
    const database = await server.createDatabase();
    await server.query(
      "postgres",
      `CREATE ROLE few LOGIN CONNECTION LIMIT 8; GRANT ALL ON DATABASE ${database} TO few`,
    );
    await server.query(database, "GRANT ALL ON SCHEMA public TO few");
    const url = server.url(database).replace("//colloquy@", "//few@");
    const warnings: string[] = [];
    await (await openPostgresStore({ url, onWarning: (warning) => void warnings.push(warning) })).close();
    const told = "The database allows this user 8 connections, and a node needs up to 16";
    expect(warnings).toEqual([expect.stringMatching(`^${told}.*ALTER ROLE … CONNECTION LIMIT`)]);
    const { findings } = await examinePostgres(url, Date.now);
    expect(findings.map(({ found }) => found)).toContainEqual(expect.stringContaining(told));
    await server.query(database, "DROP OWNED BY few; DROP ROLE few");
  });

  it("stores NULL whatever the database's compatibility options say", async () => {
    const database = await server.createDatabase();
    await server.query(database, `ALTER DATABASE ${database} SET array_nulls = off`);
    const store = await openPostgresStore({ url: server.url(database) });
    const { session } = await chat(store, randomUUID(), "hello");
    expect(session.key).toBeGreaterThan(0);
    await store.close();
  });

  it("rejects a search_path without a schema, and says what to create", async () => {
    const url = `${server.url(await server.createDatabase())}?options=-c%20search_path%3Dnone`;
    await expect(refusingToStart(() => openPostgresStore({ url }))).rejects.toThrow(/CREATE SCHEMA/);
  });

  it("rejects a database of a much newer version", async () => {
    const database = await server.createDatabase();
    const url = server.url(database);
    await (await openPostgresStore({ url })).close();
    await server.query(database, "INSERT INTO schema_migrations VALUES (99, '0099_later.sql', 0)");
    await expect(openPostgresStore({ url })).rejects.toThrow(/schema version 99.*Start a newer Colloquy/);
  });

  it("keeps working while a newer version adds a column to every table", async () => {
    const database = await server.createDatabase();
    const store = await openPostgresStore({ url: server.url(database), connections: 1 });
    const id = randomUUID();
    await live(store, id);
    const before = await everything(store, id);
    const tables = await server.query(
      database,
      "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    );
    for (const { tablename } of tables) {
      await server.query(
        database,
        `ALTER TABLE ${String(tablename)} ADD COLUMN added_later text DEFAULT 'x'`,
      );
    }
    expect(await everything(store, id)).toEqual(before);
    await live(store, randomUUID());
    await store.close();
  });

  it("uses indexes from the first row on, even with statistics of empty tables", async () => {
    const database = await server.createDatabase();
    const url = server.url(database);
    await (await openPostgresStore({ url })).close();
    await server.untilDeserted(database);
    await server.query(database, "SELECT pg_stat_reset()");
    const store = await openPostgresStore({ url });
    for (let count = 0; count < 20; count += 1) await live(store, randomUUID());
    await store.executeEach({
      kind: "claimTurns",
      owner: "owner",
      agentMessageIds: [randomUUID()],
      fullProviders: [],
      models: {},
    });
    await store.sessions.expire({ emptyBefore: 0, unboundBefore: 0, limit: 10 });
    await store.events.trim({ keepCount: 1000, keepAfter: 0, limit: 10 });
    await store.close();
    await server.untilDeserted(database);
    const read = await server.query(
      database,
      "SELECT relname FROM pg_stat_user_tables WHERE seq_scan > 0 AND n_live_tup + n_dead_tup > 0 ORDER BY relname",
    );
    // Small tables without another index.
    const small = new Set(["leases", "title_jobs", "schema_migrations"]);
    expect(read.map(({ relname }) => relname).filter((name) => !small.has(String(name)))).toEqual([]);
  });

  it("reads few of a session's actions and none of other sessions', even with statistics of empty tables", async () => {
    const database = await server.createDatabase();
    const url = server.url(database);
    const store = await openPostgresStore({ url, connections: 1 });
    const id = randomUUID();
    const { key } = (await chat(store, id, "hello")).session;
    // PostgreSQL keeps a plan after some executions.
    for (let count = 0; count < 10; count += 1) expect(await store.actions.list(id, 50)).toEqual([]);
    await server.query(
      database,
      `INSERT INTO actions SELECT session, number, 'a' || number, 1, 'call', 'tool', '{}',
         CASE WHEN session = ${key} AND number > 7 THEN 'approved' ELSE 'pending' END, '{}', 1, 1, 1
       FROM generate_series(${key}, ${key} + 3) AS session, generate_series(1, 2000) AS number`,
    );
    for (let count = 0; count < 10; count += 1) expect(await store.actions.list(id, 50)).toHaveLength(57);
    await store.close();
    await server.untilDeserted(database);
    const [read] = await server.query(
      database,
      "SELECT sum(idx_tup_read)::integer AS entries FROM pg_stat_user_indexes WHERE relname = 'actions'",
    );
    expect(read?.["entries"]).toBeLessThanOrEqual(10 * 64);
  });
});

/** Runs every kind of store operation on a session. */
async function live(store: Store, id: string): Promise<void> {
  const idempotency = { key: "k", digest: "d" };
  const turn = await startTurn(store, id, "hello", { publicKey: "0xa", idempotency });
  await chat(store, id, "hello", { idempotency });
  await store.turns.checkpoint([{ turn, offset: 0, text: "Hel" }]);
  await store.execute({
    kind: "stepWithCalls",
    target: { turn },
    input: { step: step(1, "Hello."), calls: [], actions: [] },
  });
  await store.turns.history(turn, 1000);
  await store.execute({ kind: "complete", target: { turn }, input: { step: step(2, "Bye.") } });
  await store.sessions.list({ publicKey: "0xa", access: accessTo("default"), limit: 10, after: null });
  await store.sessions.messages(id, null, 10, null);
  await store.actions.list(id, 10);
  await store.secrets.of("default", "client");
  await store.keys.list();
}
