// Moves what was committed from the log into the database, between batches and by the thread that writes: only then can the log begin
// anew, whatever the load. SQLite's automatic checkpoints are off, because they swallow their errors, a failed fsync among them.

import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { Outcome } from "./calls.ts";
import { failureOf } from "./failures.ts";
import { prepare } from "./statement.ts";

/**
 * Pages that the log should hold when it is moved. Measured: 4,000 take 2 ms at 1,500 calls a second, 3 microseconds a call; with 1,000 it
 * is 11 to 18, because pages that were written again and again are moved more often.
 */
const LOG_PAGES = 4000;
/** A page of 4 KB with its frame. */
const FRAME_BYTES = 4096 + 24;
const FEWEST_CALLS = 16;
const MOST_CALLS = 4096;

interface CheckpointRow {
  /** Pages in the log. */
  readonly log: number;
  /** Pages of it that are in the database now. */
  readonly checkpointed: number;
}

/** To be called after every batch, with its outcomes. Throws a FatalStoreError. */
export function prepareWalCheckpoint(database: DatabaseSync): (outcomes: readonly Outcome[]) => void {
  database.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${LOG_PAGES * FRAME_BYTES}`);
  const passive = prepare<[], CheckpointRow>(database, "PRAGMA wal_checkpoint(PASSIVE)");
  const isTooLong = prepareSizeCheck(database);
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
    if (calls < callsToFill && (calls < FEWEST_CALLS || !isTooLong())) return;
    move();
    calls = 0;
  };
}

/** Whether the log has outgrown its size by far, because calls suddenly write more. It is cut back when it begins anew. */
function prepareSizeCheck(database: DatabaseSync): () => boolean {
  const path = database.location();
  if (path === null) return () => false;
  const log = `${path}-wal`;
  return () => (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 2 * LOG_PAGES * FRAME_BYTES;
}

function isFull(outcome: Outcome): boolean {
  return "failure" in outcome && outcome.failure.kind === "full";
}
