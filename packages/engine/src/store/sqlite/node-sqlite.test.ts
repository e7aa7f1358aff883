import { expect, it } from "vitest";
import { DatabaseSync, loadSqlite } from "./node-sqlite.ts";

it("loads Node's SQLite", () => {
  const database = new DatabaseSync(":memory:");
  expect(database.prepare("SELECT 1 AS one").get()).toEqual({ one: 1 });
  database.close();
});

it("names the required version of Node if SQLite is missing", () => {
  const ofOldNode = (name: string): never => {
    throw new Error(`No such built-in module: ${name}`);
  };
  expect(() => loadSqlite(ofOldNode)).toThrow("Colloquy needs Node 24 or later, and this Node is older.");
});
