// Guards against forgotten migrations: new tables and columns move automatically, and tests here fail if that is wrong.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithoutPostgres } from "../../test/postgres-server.ts";
import { usePostgres } from "../../test/use-postgres.ts";
import type { TableStore } from "@colloquy/engine/internal/core/ports/driven/table-store";
import { withTables } from "./database-address.ts";
import { NOT_MOVED, movedTables, convertRow } from "./moved-tables.ts";

describe.skipIf(await isWithoutPostgres())("the tables of both databases", () => {
  const server = usePostgres();
  let root: string;
  beforeAll(async () => void (root = await mkdtemp(join(tmpdir(), "colloquy-tables-"))));
  afterAll(() => rm(root, { recursive: true }));

  const on = <Result>(work: (sqlite: TableStore, postgres: TableStore) => Promise<Result>) =>
    withTables({ kind: "sqlite", directory: root }, { access: "target", at: 0 }, (sqlite) =>
      withTables({ kind: "postgres", url: server.url("postgres") }, { access: "target", at: 0 }, (postgres) =>
        work(sqlite, postgres),
      ),
    );

  it("have the same names, columns and keys in both stores", async () => {
    const shapeOf = ({ tables }: TableStore) =>
      tables.map(({ name, key, columns }) => ({
        name,
        key,
        columns: columns.map(({ name, kind, isOptional }) => ({ name, kind, isOptional })),
      }));
    const [left, right] = await on((...stores) => Promise.resolve(stores.map(shapeOf)));
    expect(left).toEqual(right);
    expect(left?.every(({ key }) => key.length > 0)).toBe(true);
    expect(left?.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(NOT_MOVED)));
  });

  it("are empty in a new database; tables that a migration fills are not moved", async () => {
    const filled = await on(async (...stores) => {
      const found: string[] = [];
      for (const store of stores) {
        await store.read(async (reader) => {
          for (const table of movedTables(store, store)) {
            if ((await reader.count(table)) > 0) found.push(`${table.name} of ${store.place}`);
          }
        });
      }
      return found;
    });
    expect(filled).toEqual([]);
  });

  it("have the same sequences", async () => {
    const names = await on((...stores) =>
      Promise.all(stores.map((store) => store.read(async (reader) => Object.keys(await reader.sequences())))),
    );
    expect(names[0]).toEqual(names[1]);
    expect(names[0]).toEqual(["epoch", "session_key"]);
  });

  it("are refused if a column is missing on one side", async () => {
    await on((sqlite, postgres) => {
      const tables = postgres.tables.map((table) =>
        table.name === "messages" ? { ...table, columns: table.columns.slice(1) } : table,
      );
      expect(() => movedTables(sqlite, { ...postgres, tables })).toThrow(
        /no column for messages.session_key \(number\)/,
      );
      return Promise.resolve();
    });
  });

  it("turn a running turn into one that any node may start", async () => {
    const table = await on((sqlite) => Promise.resolve(sqlite.tables.find(({ name }) => name === "turns")));
    if (table === undefined) throw new Error("There is no table of turns");
    const rowOf = (cells: Readonly<Record<string, string | number | null>>) =>
      table.columns.map(({ name }) => cells[name] ?? null);
    const running = { state: "running", ended_at: null, runnable: 0 };
    expect(convertRow(table, rowOf(running))).toEqual(rowOf({ ...running, runnable: 1 }));
    for (const other of [
      { ...running, state: "waiting" },
      { ...running, state: "complete", ended_at: 5 },
    ]) {
      expect(convertRow(table, rowOf(other))).toEqual(rowOf(other));
    }
  });
});
