// The contract of every adapter's tables (core/ports/driven/table-store.ts).

import { afterEach, beforeEach, describe, expect, it } from "../harness.ts";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import { ACTIONS, MESSAGES, SESSIONS, TURNS } from "@colloquy/engine/internal/store/columns";
import type {
  Extract,
  Table,
  TableAccess,
  TableRow,
  TableStore,
} from "@colloquy/engine/internal/core/ports/driven/table-store";

/** Columns of the tables of records. */
const DECLARED = {
  sessions: { ...SESSIONS.columns, event_floor: "bigint" },
  messages: MESSAGES.columns,
  turns: TURNS.columns,
  actions: ACTIONS.columns,
} as const;

export interface GivenDatabase {
  withTables<Result>(access: TableAccess, work: (store: TableStore) => Promise<Result>): Promise<Result>;
  /** Opens the database as a server does, and closes it. */
  serve(): Promise<void>;
  /** Writes as a command beside a server does. */
  write(): Promise<void>;
  dispose(): Promise<void>;
}

/** Creates a database for each test. */
export function describeTables(adapter: string, create: () => Promise<GivenDatabase>): void {
  describe(`tables on ${adapter}`, () => {
    let given: GivenDatabase;
    beforeEach(async () => {
      given = await create();
    });
    afterEach(() => given.dispose());

    const table = ({ tables }: TableStore, name: string): Table => {
      const found = tables.find((one) => one.name === name);
      if (found === undefined) throw new Error(`There is no table ${name}`);
      return found;
    };
    const all: Extract = { after: null, rows: 100, characters: 1_000_000 };
    const extract = (store: TableStore, name: string, part: Partial<Extract> = {}) =>
      store.read((reader) => reader.extract(table(store, name), { ...all, ...part }));
    const insert = (store: TableStore, name: string, rows: readonly TableRow[]) =>
      store.change((writer) => writer.insert(table(store, name), rows));
    const event = (session: number, number: number, payload = "{}"): TableRow => [
      session,
      number,
      5,
      payload,
    ];
    const EVENTS = [event(1, 1), event(1, 2), event(1, 10), event(2, 1), event(10, 1)];

    it("report columns and keys as in the schema", () =>
      given.withTables("beside", (store) => {
        expect(table(store, "events")).toMatchObject({
          key: ["session_key", "number"],
          columns: [
            { name: "session_key", kind: "number", isOptional: false },
            { name: "number", kind: "number", isOptional: false },
            { name: "at", kind: "number", isOptional: false },
            { name: "payload", kind: "text", isOptional: false },
          ],
        });
        expect(table(store, "sessions").columns).toContainEqual(
          expect.objectContaining({ name: "user_state", kind: "text", isOptional: true }),
        );
        expect(store.tables.map(({ name }) => name)).not.toContain("schema_migrations");
        return Promise.resolve();
      }));

    it("have exactly the columns of the declared fields", () =>
      given.withTables("beside", (store) => {
        for (const [name, declared] of Object.entries(DECLARED)) {
          const columns = table(store, name).columns.map((column) => column.name);
          expect({ name, columns: columns.toSorted() }).toEqual({
            name,
            columns: Object.keys(declared).toSorted(),
          });
        }
        return Promise.resolve();
      }));

    it("are read in key order, after a given row", () =>
      given.withTables("beside", async (store) => {
        await insert(store, "events", EVENTS.toReversed());
        expect(await extract(store, "events")).toEqual(EVENTS);
        expect(await extract(store, "events", { after: [1, 2], rows: 2 })).toEqual(EVENTS.slice(2, 4));
        expect(await extract(store, "events", { after: [10, 1] })).toEqual([]);
        expect(await store.read((reader) => reader.count(table(store, "events")))).toBe(5);
      }));

    it("order texts by their bytes", () =>
      given.withTables("beside", async (store) => {
        const names = ["B", "Z", "a", "z", "ä", "Ω", "\u{fffd}", "😀"];
        const rows = names.map((name): TableRow => [name, null, "[]", "d", 1, null, null, null]);
        await insert(store, "app_keys", rows.toReversed());
        expect(await extract(store, "app_keys")).toEqual(rows);
        expect(await extract(store, "app_keys", { after: ["z"] })).toEqual(rows.slice(4));
      }));

    it("are read with a given value in a column, after a given row", () =>
      given.withTables("beside", async (store) => {
        await insert(store, "events", EVENTS);
        const where = { column: "session_key", value: 1 };
        expect(await extract(store, "events", { where })).toEqual(EVENTS.slice(0, 3));
        expect(await extract(store, "events", { where, after: [1, 1], rows: 1 })).toEqual([EVENTS[1]]);
      }));

    it("are read up to the row that reaches the character limit, and at least one row", () =>
      given.withTables("beside", async (store) => {
        const rows = [1, 2, 3, 4].map((number) => event(1, number, "x".repeat(1000)));
        await insert(store, "events", rows);
        expect(await extract(store, "events", { characters: 1 })).toEqual(rows.slice(0, 1));
        expect(await extract(store, "events", { characters: 1900 })).toEqual(rows.slice(0, 2));
      }));

    it("are changed atomically", () =>
      given.withTables("beside", async (store) => {
        await insert(store, "events", EVENTS);
        const twice = store.change(async (writer) => {
          await writer.insert(table(store, "events"), [event(7, 7)]);
          await writer.insert(table(store, "events"), [event(1, 1)]);
        });
        await expect(twice).rejects.toThrow();
        expect(await extract(store, "events")).toEqual(EVENTS);
        await store.change((writer) =>
          writer.remove(table(store, "events"), { column: "session_key", value: 1 }),
        );
        expect(await extract(store, "events")).toEqual(EVENTS.slice(3));
        await store.change((writer) => writer.remove(table(store, "events"), null));
        expect(await extract(store, "events")).toEqual([]);
      }));

    it("have sequences that only increase", () =>
      given.withTables("beside", async (store) => {
        const sequences = () => store.read((reader) => reader.sequences());
        expect(await sequences()).toEqual({ epoch: 0, session_key: 0 });
        expect(await store.change((writer) => writer.take("epoch"))).toBe(1);
        await store.change((writer) => writer.raise("epoch", 1));
        expect(await store.change((writer) => writer.take("epoch"))).toBe(2);
        await store.change((writer) => writer.raise("session_key", 40));
        await store.change((writer) => writer.raise("session_key", 7));
        expect(await store.change((writer) => writer.take("session_key"))).toBe(41);
        expect(await sequences()).toEqual({ epoch: 2, session_key: 41 });
      }));

    it("reject other writers while they are being moved out", async () => {
      await given.write();
      await given.withTables("source", (store) =>
        store.read(async (reader) => {
          const count = await reader.count(table(store, "sessions"));
          await expect(given.write()).rejects.toBeInstanceOf(ServiceError);
          expect(await reader.count(table(store, "sessions"))).toBe(count);
        }),
      );
      await given.write();
    });

    it("reject servers and other commands until a move is finished", async () => {
      const note = (isFinished: boolean, text: string) =>
        given.withTables("target", (store) =>
          store.change((writer) => writer.noteMove({ isFinished, text })),
        );
      const read = () => given.withTables("target", (store) => store.read((reader) => reader.moveNote()));
      expect(await read()).toBeNull();
      await note(false, "first");
      await note(false, "second");
      expect(await read()).toEqual({ isFinished: false, text: "second" });
      await expect(given.serve()).rejects.toThrow(/not finished. Run the same colloquy migrate again/);
      for (const access of ["source", "alone", "beside"] as const) {
        await expect(given.withTables(access, () => Promise.resolve())).rejects.toThrow(/not finished/);
      }
      await note(true, "third");
      expect(await read()).toEqual({ isFinished: true, text: "third" });
      await given.serve();
    });
  });
}
