import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { isWithoutPostgres } from "../../test/postgres-server.ts";
import { usePostgres } from "../../test/use-postgres.ts";
import type { TableStore } from "@colloquy/engine/internal/core/ports/driven/table-store";
import {
  everything,
  NOTHING,
  record,
  startTurn,
  target,
} from "@colloquy/testing/internal/store/fixtures/scenario";
import { type DatabaseAddress, withTables } from "./database-address.ts";
import { claimAll, fillStore } from "./testing/filled-store.ts";
import { migrate, type MoveOptions, type MoveReport, moveTables } from "./migrate.ts";
import { serversAt } from "./testing/opened-store.ts";

const PROCESS = join(import.meta.dirname, "../../test/migrate-process.ts");

describe.skipIf(await isWithoutPostgres())("migrate", () => {
  const server = usePostgres();
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "colloquy-migrate-"));
  });
  afterEach(() => rm(root, { recursive: true }));

  const sqlite = (name: string): DatabaseAddress => ({ kind: "sqlite", directory: join(root, name) });
  const postgres = async (): Promise<DatabaseAddress> => ({
    kind: "postgres",
    url: server.url(await server.createDatabase()),
  });
  const clock = new ManualClock();
  const withStore = serversAt(clock);

  function run(from: DatabaseAddress, to: DatabaseAddress, more: Partial<MoveOptions> = {}) {
    return migrate({ from, to, restart: false, at: clock.now(), onStep: () => undefined, ...more });
  }

  /** Runs a statement on the database. */
  function tamper(address: DatabaseAddress, statement: string): void {
    if (address.kind !== "sqlite") throw new Error("Use tamperThere for PostgreSQL");
    const database = new DatabaseSync(join(address.directory, "colloquy.db"));
    database.exec(statement);
    database.close();
  }

  const tamperThere = (address: DatabaseAddress, statement: string) =>
    address.kind === "postgres" && server.query(new URL(address.url).pathname.slice(1), statement);

  const sums = ({ tables }: MoveReport) => tables.map(({ table, target }) => ({ table, ...target }));

  it("moves all data to PostgreSQL and back without differences", async () => {
    const [here, there, back] = [sqlite("here"), await postgres(), sqlite("back")];
    const filled = await withStore(here, (store) => fillStore(store, 3));
    const before = await withStore(here, (store) =>
      Promise.all(filled.all.map((id) => everything(store, id))),
    );
    const out = await run(here, there);
    const home = await run(there, back);
    expect(out).toMatchObject({ outcome: "moved", tables: expect.any(Array) });
    expect(sums(home)).toEqual(sums(out));
    expect(out.tables.every(({ source, target }) => source.checksum === target.checksum)).toBe(true);
    const filledTables = out.tables.filter(({ target }) => target.rows > 0).map(({ table }) => table);
    expect(out.tables.map(({ table }) => table)).toEqual(filledTables);
    for (const address of [there, back]) {
      const after = await withStore(address, (store) =>
        Promise.all(filled.all.map((id) => everything(store, id))),
      );
      expect(after).toEqual(before);
    }
  });

  it.each([["PostgreSQL"], ["SQLite"]])(
    "continues running turns on %s with new keys and epochs",
    async (to) => {
      const from = to === "SQLite" ? await postgres() : sqlite("from");
      const goal = to === "SQLite" ? sqlite("to") : await postgres();
      const filled = await withStore(from, (store) => fillStore(store));
      const old = await withStore(from, (store) => record(store, filled.running));
      // The leases of the running turns have expired.
      await clock.advance(60_000);
      await run(from, goal);
      await withStore(goal, async (store) => {
        const claimed = await claimAll(store);
        expect(claimed.map(({ session }) => session.id).toSorted()).toEqual(
          [filled.running, filled.queued].toSorted(),
        );
        const epochs = claimed.map(({ session }) => session.epoch);
        expect(Math.min(...epochs)).toBeGreaterThan(old.epoch);
        const fresh = randomUUID();
        await startTurn(store, fresh, "hello");
        expect((await record(store, fresh)).key).toBeGreaterThan(old.key);
      });
    },
  );

  it.each([["PostgreSQL"], ["SQLite"]])(
    "resumes after being killed on the way to %s, while no server can start",
    async (to) => {
      const from = to === "SQLite" ? await postgres() : sqlite("from");
      const goal = to === "SQLite" ? sqlite("to") : await postgres();
      await withStore(from, (store) => fillStore(store, 1));
      const textOf = (address: DatabaseAddress) =>
        address.kind === "sqlite" ? `sqlite:${address.directory}` : address.url;
      for (let kills = 0; kills < 5; kills += 1) {
        // Each run gets nine steps further than the previous one; the last ones are killed during the
        // comparison.
        const child = promisify(execFile)(process.execPath, [PROCESS, textOf(from), textOf(goal), "9"]);
        await expect(child).rejects.toMatchObject({ signal: "SIGKILL", stderr: "" });
        await expect(withStore(goal, () => Promise.resolve())).rejects.toThrow(
          /move of data into this database/,
        );
      }
      const report = await run(from, goal);
      expect(report).toMatchObject({ outcome: "resumed" });
      expect(report.tables.every(({ firstDifference }) => firstDifference === null)).toBe(true);
      await expect(run(from, goal)).resolves.toMatchObject({ outcome: "before" });
      await withStore(goal, (store) => store.probe());
    },
    120_000,
  );

  it.each([
    ["a changed text", "UPDATE messages SET content = 'x' WHERE position = 1", "messages"],
    ["a missing row", "DELETE FROM app_keys", "app_keys"],
    ["an extra row", "INSERT INTO title_jobs VALUES (99999, 0)", "title_jobs"],
  ])("finds %s, and leaves the target closed", async (_what, statement, table) => {
    const [from, to] = [await postgres(), sqlite("to")];
    await withStore(from, (store) => fillStore(store));
    let isPlanted = false;
    const moved = run(from, to, {
      onStep: ({ phase, done, total }) => {
        if (isPlanted || phase === "verify" || done < total) return;
        isPlanted = true;
        tamper(to, statement);
      },
    });
    const difference = `differs from postgres:.*\n  - ${table}: \\d+ rows in the source, \\d+ in the target; first difference at`;
    await expect(moved).rejects.toThrow(new RegExp(difference));
    await expect(withStore(to, () => Promise.resolve())).rejects.toThrow(/move of data into this database/);
    await expect(run(from, to)).rejects.toThrow(new RegExp(difference));
    await expect(run(from, to, { restart: true })).resolves.toMatchObject({ outcome: "moved" });
    await withStore(to, (store) => store.probe());
  });

  it("accepts a target where a service was started, and keeps the session handles of the source", async () => {
    const [from, to] = [sqlite("from"), await postgres()];
    await withStore(from, (store) => store.admin.handleKey("of the source"));
    await withStore(to, (store) => store.admin.handleKey("of the target"));
    await run(from, to);
    expect(await withStore(to, (store) => store.admin.handleKey("another"))).toBe("of the source");
  });

  it("rejects a target with data, and one that was used after a move", async () => {
    const [from, to, other] = [sqlite("from"), await postgres(), sqlite("other")];
    const { done } = await withStore(from, (store) => fillStore(store));
    await withStore(other, (store) =>
      store.execute({ kind: "open", target: target(randomUUID()), input: NOTHING }),
    );
    await expect(run(from, other)).rejects.toThrow(/not empty: its table sessions has rows/);
    await expect(run(from, other, { restart: true })).rejects.toThrow(/not empty/);
    await run(from, to);
    await withStore(to, (store) =>
      store.execute({
        kind: "edit",
        target: { session: done, birth: null, load: false, access: null },
        input: { title: "Used" },
      }),
    );
    await expect(run(from, to)).rejects.toThrow(
      /An earlier move was complete, and one of the databases has been used since/,
    );
    await expect(run(from, to, { restart: true })).rejects.toThrow(/used since/);
  });

  it("refuses to move a database to itself, even under another name", async () => {
    const from = sqlite("from");
    const url = server.url(await server.createDatabase());
    const there: DatabaseAddress = { kind: "postgres", url };
    const otherName: DatabaseAddress = { kind: "postgres", url: url.replace("127.0.0.1", "localhost") };
    for (const [one, other] of [
      [from, from],
      [there, there],
      [there, otherName],
    ] as const) {
      await expect(run(one, other)).rejects.toThrow(/^--from and --to name the same database\. /);
    }
  });

  it("rejects a target of another unfinished move without restart", async () => {
    const [from, other, to] = [sqlite("from"), sqlite("other"), await postgres()];
    for (const source of [from, other]) await withStore(source, (store) => fillStore(store));
    const stop = () => {
      throw new Error("stopped");
    };
    await expect(run(other, to, { onStep: stop })).rejects.toThrow("stopped");
    await expect(run(from, to)).rejects.toThrow(/unfinished move from sqlite:.*other\. Run that move again/);
    await expect(run(from, to, { restart: true })).resolves.toMatchObject({ outcome: "moved" });
  });

  it("rejects databases that a server has open, with or without a running turn", async () => {
    const [from, other, to] = [sqlite("from"), sqlite("other"), sqlite("to")];
    const [source, goal, killed] = [await postgres(), await postgres(), await postgres()];
    await withStore(from, async (store) => {
      await fillStore(store);
      await expect(run(from, goal)).rejects.toThrow(/from is in use by a Colloquy server/);
    });
    await withStore(killed, (store) => fillStore(store));
    // The node was killed: its connection is closed, but its lease has not expired.
    await tamperThere(killed, "UPDATE leases SET expires_at = 9999999999999");
    // PostgreSQL may need seconds to notice that a node is gone, and each of these calls waits for it.
    const refused = (one: DatabaseAddress, another: DatabaseAddress) =>
      expect(run(one, another)).rejects.toThrow(/in use by a Colloquy server. Stop every node/);
    await withStore(source, (reading) =>
      withStore(goal, async (written) => {
        await fillStore(reading);
        await Promise.all([refused(source, to), refused(from, goal), refused(killed, other)]);
        await reading.probe();
        await written.probe();
      }),
    );
  });

  it("resumes after being cut off at any step", async () => {
    const [from, to] = [sqlite("from"), sqlite("to")];
    await withStore(from, (store) => fillStore(store));
    const access = (address: DatabaseAddress, kind: "source" | "target", work: Work) =>
      withTables(address, { access: kind, at: clock.now() }, work);
    let stops = 0;
    for (;;) {
      const isDone = await access(from, "source", (source) =>
        source.read((reader) =>
          access(to, "target", async (target) => {
            // Every run is interrupted after seven changes of the target.
            const move = { source, reader, target: stoppingAfter(7, target) };
            const moved = moveTables(move, { restart: false, rowsAtOnce: 3, onStep: () => undefined });
            return await moved.then(
              () => true,
              (error: unknown) => {
                if (error instanceof Stopped) return false;
                throw error;
              },
            );
          }),
        ),
      );
      if (isDone) break;
      stops += 1;
    }
    expect(stops).toBeGreaterThan(10);
    await expect(run(from, to)).resolves.toMatchObject({ outcome: "before" });
  });
});

type Work = (store: TableStore) => Promise<boolean>;

class Stopped extends Error {}

/** Allows this many changes, then throws `Stopped`. Reads do not count. */
function stoppingAfter(changes: number, store: TableStore): TableStore {
  let left = changes;
  const count = (): void => {
    if (left === 0) throw new Stopped();
    left -= 1;
  };
  return {
    ...store,
    change: async (work) => {
      count();
      const result = await store.change((writer) =>
        work({
          ...writer,
          insert: (...parameters) => (count(), writer.insert(...parameters)),
          raise: (...parameters) => (count(), writer.raise(...parameters)),
          noteMove: (...parameters) => (count(), writer.noteMove(...parameters)),
        }),
      );
      count();
      return result;
    },
  };
}
