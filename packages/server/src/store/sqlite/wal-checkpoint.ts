// Moves what was committed from the log into the database, between batches and by the thread that writes: only then can the log begin
// anew, whatever the load. Small and often, so that no call waits long.

import type { DatabaseSync } from "node:sqlite";
import type { Outcome } from "./calls.ts";
import { failureOf } from "./failures.ts";
import { prepare } from "./rows.ts";

/** Pages (of 4 KB) that the log should hold at most when it is moved. */
const LOG_PAGES = 1000;
const FEWEST_CALLS = 16;
const MOST_CALLS = 4096;

interface CheckpointRow {
  readonly busy: number;
  /** Pages in the log. */
  readonly log: number;
  /** Pages of it that are in the database now. */
  readonly checkpointed: number;
}

/** To be called after every batch, with its outcomes. Throws a FatalStoreError. */
export function prepareWalCheckpoint(database: DatabaseSync): (outcomes: readonly Outcome[]) => void {
  const passive = prepare<[], CheckpointRow>(database, "PRAGMA wal_checkpoint(PASSIVE)");
  // How many calls fill a log of LOG_PAGES: not known before, so learned from how much the last ones have filled.
  let callsToFill = FEWEST_CALLS;
  let calls = 0;
  const move = (): void => {
    try {
      const row = passive.get();
      if (row === undefined || row.log <= 0 || row.log !== row.checkpointed) return;
      const fitting = Math.round((calls * LOG_PAGES) / row.log);
      callsToFill = Math.min(MOST_CALLS, Math.max(FEWEST_CALLS, fitting));
    } catch (error) {
      // On a full disk the log keeps everything, and the next one tries again. A failed fsync throws here.
      failureOf(error);
      callsToFill = FEWEST_CALLS;
    }
  };
  return (outcomes) => {
    calls += outcomes.length;
    // Where the log cannot grow any more, there may still be room for what is in it.
    if (outcomes.some(isFull)) callsToFill = FEWEST_CALLS;
    if (calls < callsToFill) return;
    move();
    calls = 0;
  };
}

function isFull(outcome: Outcome): boolean {
  return "failure" in outcome && outcome.failure.kind === "full";
}
