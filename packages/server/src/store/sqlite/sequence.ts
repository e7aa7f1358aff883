import type { DatabaseSync } from "node:sqlite";
import { prepare } from "./statement.ts";

/** Numbers are taken from the database this many at a time; those that a process does not use are never used. */
const BLOCK = 256;

export interface Sequence {
  /** A number that was never given out before, by whatever process. To be called in a write transaction. */
  take(): number;
  /** A transaction was undone, and with it, maybe, the block that it took. */
  undone(): void;
}

export function prepareSequence(database: DatabaseSync, name: "session_key"): Sequence {
  const takeBlock = prepare<[number, string], { readonly value: number }>(
    database,
    "UPDATE sequences SET value = value + ? WHERE name = ? RETURNING value",
  );
  let left = 0;
  let end = 0;
  return {
    take: () => {
      if (left === 0) {
        const row = takeBlock.get(BLOCK, name);
        if (row === undefined) throw new Error(`The sequence ${name} is missing from the database`);
        end = row.value;
        left = BLOCK;
      }
      left -= 1;
      return end - left;
    },
    undone: () => {
      left = 0;
    },
  };
}
