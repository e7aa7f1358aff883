import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { prepareSequence, type Sequence } from "./sequence.ts";

let database: DatabaseSync;
beforeEach(() => {
  database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE sequences (name TEXT PRIMARY KEY, value INTEGER NOT NULL)");
  database.exec("INSERT INTO sequences VALUES ('session_key', 0)");
});

const sequence = (): Sequence => prepareSequence(database, "session_key");
const take = (from: Sequence, count: number): number[] => Array.from({ length: count }, () => from.take());

describe("a sequence", () => {
  it("never gives a number out twice, to two processes and after a restart either", () => {
    const [first, second] = [sequence(), sequence()];
    const taken = [...take(first, 300), ...take(second, 300), ...take(first, 300), ...take(sequence(), 10)];
    expect(new Set(taken).size).toBe(taken.length);
  });

  it("gives up the block that an undone transaction took, which another process may have by now", () => {
    const [first, second] = [sequence(), sequence()];
    database.exec("BEGIN");
    first.take();
    database.exec("ROLLBACK");
    first.undone();
    const taken = [...take(second, 10), ...take(first, 10)];
    expect(new Set(taken).size).toBe(taken.length);
  });
});
