import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, it, onTestFinished } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { describeEndedClaims } from "@colloquy/testing/internal/store/ended-claims.suite";
import { describeSizes } from "@colloquy/testing/internal/store/sizes.suite";
import { readMigrations } from "../migrations.ts";
import { prepareEventLog } from "./events.ts";
import { migrate, prepareIn } from "./database.ts";
import { openSqliteStore } from "./open.ts";

function onFatal(error: Error): void {
  throw error;
}

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});

async function openDatabase() {
  const directory = await mkdtemp(join(tmpdir(), "colloquy-sizes-"));
  const clock = new ManualClock();
  const store = await openSqliteStore({ directory, clock, onFatal });
  const database = new DatabaseSync(join(directory, "colloquy.db"));
  undo.push(async () => {
    database.close();
    await store.close();
    await rm(directory, { recursive: true });
  });
  return { store, clock, execute: async (sql: string) => database.exec(sql) };
}

describeSizes(openDatabase);
describeEndedClaims(openDatabase);

it("the lowest event number never decreases", () => {
  const database = new DatabaseSync(":memory:");
  onTestFinished(() => database.close());
  migrate(database, readMigrations(join(import.meta.dirname, "migrations")), 1);
  database.exec(
    `INSERT INTO sessions (key, id, life, title, title_source, status, model, model_chosen, head, event_floor, message_count, turn_count, epoch, created_at, updated_at, used_at, retention)
       VALUES (1, 'a', 'a', 'New Chat', 'placeholder', 'idle', 'm', 0, 5, 3, 0, 0, 0, 1, 1, 1, 0)`,
  );
  prepareEventLog(prepareIn(database)).dropUpTo(1, 2);
  expect(database.prepare("SELECT event_floor FROM sessions").get()).toMatchObject({ event_floor: 3 });
});
