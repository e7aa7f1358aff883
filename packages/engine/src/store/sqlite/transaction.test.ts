import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { prepareIn } from "./database.ts";
import { prepareSessionKeys } from "./transaction.ts";

let database: DatabaseSync;
beforeEach(() => {
  database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE sequences (name TEXT PRIMARY KEY, value INTEGER NOT NULL)");
  database.exec("INSERT INTO sequences VALUES ('session_key', 0)");
});

const keys = () => prepareSessionKeys(prepareIn(database));
const take = (from: ReturnType<typeof keys>, count: number): number[] =>
  Array.from({ length: count }, () => from.take());

describe("session keys", () => {
  it("are never assigned twice, neither by two processes nor after a restart", () => {
    const [first, second] = [keys(), keys()];
    const taken = [...take(first, 300), ...take(second, 300), ...take(first, 300), ...take(keys(), 10)];
    expect(new Set(taken).size).toBe(taken.length);
  });

  it("are reserved again after a rollback, because another process may have the block by now", () => {
    const [first, second] = [keys(), keys()];
    database.exec("BEGIN");
    first.take();
    database.exec("ROLLBACK");
    first.undone();
    const taken = [...take(second, 10), ...take(first, 10)];
    expect(new Set(taken).size).toBe(taken.length);
  });
});
