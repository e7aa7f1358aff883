import { expect, it } from "vitest";
import { jobs } from "../jobs.ts";
import { openDatabase } from "./database.ts";

it("finds due title jobs without reading the messages of other sessions", () => {
  const database = openDatabase(null, 0);
  const asked = jobs.claimTitles.work(0 as never, 10, 0).next().value;
  if (!("sqlite" in asked)) throw new Error("claimTitles runs no statement");
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${asked.sqlite}`).all(0, 10);
  database.close();
  expect(plan.map(({ detail }) => detail)).toEqual([
    "SCAN j",
    "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
    "SEARCH m USING PRIMARY KEY (session_key=? AND position=?)",
    "USE TEMP B-TREE FOR ORDER BY",
  ]);
});
