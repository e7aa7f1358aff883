// Checkpoints the write-ahead log on the writing thread, between batches, so that the log can restart under
// any load. SQLite's automatic checkpoints are off because they ignore errors, including failed fsyncs.

import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { IndexedBatch } from "../../core/ports/driven/search-store.ts";
import type { SessionCommand } from "../../core/commands/index.ts";
import type { Call, Outcome } from "./calls.ts";
import { BUSY_TIMEOUT_MS, prepareIn } from "./database.ts";
import { failureOf } from "./failures.ts";

/**
 * Number of pages in the log at which it is checkpointed. Measured at 1,500 calls a second: with 4,000 pages
 * a checkpoint takes 2 ms, or 3 microseconds a call; with 1,000 pages it takes 11 to 18 microseconds a call,
 * because pages that are written repeatedly are moved more often.
 */
const LOG_PAGES = 4000;
/** Bytes of a page of 4 KB with its frame. */
const FRAME_BYTES = 4096 + 24;
const FEWEST_CALLS = 16;
const MOST_CALLS = 4096;

/**
 * Deletes within this many milliseconds share one erasure, because the log must grow again after each, which
 * slows commits down.
 */
const ERASURE_DELAY_MS = 1000;

/**
 * Maximum bytes of a database that a purge rewrites: `secure_delete` misses copies of rows that SQLite has
 * moved between pages. A rewrite delays other calls, by two seconds for 256 MB.
 */
const REWRITTEN_BYTES = 256 * 1024 * 1024;

export interface Wal {
  /** Must be called after every batch. Throws a FatalStoreError. */
  after(calls: readonly Call[], outcomes: readonly Outcome[]): void;
  /**
   * Erases deleted text now; a large database may keep copies of moved rows. Returns false if another process
   * is reading the log, or the disk is full. Throws a FatalStoreError.
   */
  purge(): boolean;
  /** Erases deleted text if an erasure is due. Throws a FatalStoreError. */
  finish(): void;
}

/** `onFatal` receives errors outside calls after which the process must end. */
export function prepareWal(database: DatabaseSync, onFatal: (error: unknown) => void): Wal {
  database.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${LOG_PAGES * FRAME_BYTES}`);
  const checkpoint = prepareCheckpoint(database);
  const erasure = prepareErasure(database, onFatal);
  // A process that was killed may have left deleted text.
  erasure.schedule();
  return {
    after(calls, outcomes) {
      checkpoint(outcomes);
      if (calls.some((call, index) => removes(call, outcomes[index]))) erasure.schedule();
    },
    purge: () => rewrite(database) && erasure.erase(),
    finish: erasure.finish,
  };
}

function prepareCheckpoint(database: DatabaseSync): (outcomes: readonly Outcome[]) => void {
  /** `log`: pages in the log; `checkpointed`: pages of the log that are in the database now. */
  const passive = prepareIn(database)<[], { readonly log: number; readonly checkpointed: number }>(
    "PRAGMA wal_checkpoint(PASSIVE)",
  );
  const isTooLong = prepareSizeCheck(database);
  // Number of calls that fill a log of LOG_PAGES, estimated from the most recent calls.
  let callsToFill = FEWEST_CALLS;
  let calls = 0;
  const move = (): void => {
    try {
      const row = passive.get();
      if (row === undefined || row.log <= 0 || row.log !== row.checkpointed) return;
      const fitting = Math.round((calls * LOG_PAGES) / row.log);
      callsToFill = Math.min(MOST_CALLS, Math.max(FEWEST_CALLS, fitting));
    } catch (error) {
      // On a full disk the log keeps everything and the next checkpoint retries. Rethrows after a failed
      // fsync.
      failureOf(error);
      callsToFill = FEWEST_CALLS;
    }
  };
  return (outcomes) => {
    calls += outcomes.length;
    // The pages of a log that cannot grow may still fit into the database.
    if (outcomes.some((outcome) => "failure" in outcome && outcome.failure.kind === "full")) {
      callsToFill = FEWEST_CALLS;
    }
    if (calls < callsToFill && (calls < FEWEST_CALLS || !isTooLong())) return;
    move();
    calls = 0;
  };
}

/**
 * Returns true if the log has far outgrown its size because calls suddenly write more. It is truncated when
 * it restarts.
 */
function prepareSizeCheck(database: DatabaseSync): () => boolean {
  const path = database.location();
  if (path === null) return () => false;
  return () => (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 2 * LOG_PAGES * FRAME_BYTES;
}

/** Rewrites a small database without deleted data. Returns false if that is not possible now. */
function rewrite(database: DatabaseSync): boolean {
  const path = database.location();
  if (path === null || statSync(path).size > REWRITTEN_BYTES) return true;
  try {
    database.exec("VACUUM");
    return true;
  } catch (error) {
    failureOf(error);
    return false;
  }
}

/**
 * Deleted text is overwritten in its pages (`secure_delete`), but the log holds the earlier pages until it
 * restarts. After a delete the log is therefore checkpointed and truncated: between calls, never within one.
 */
function prepareErasure(database: DatabaseSync, onFatal: (error: unknown) => void) {
  const truncate = prepareIn(database)<[], { readonly busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)");
  let due: NodeJS.Timeout | null = null;
  /** Returns false if another process is reading the log, or the disk is full. */
  const erase = (): boolean => {
    // Never waits for other processes, because calls would have to wait too.
    database.exec("PRAGMA busy_timeout = 0");
    try {
      return truncate.get()?.busy === 0;
    } catch (error) {
      failureOf(error);
      return false;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  };
  const schedule = (): void => {
    due ??= setTimeout(() => {
      due = null;
      try {
        if (!erase()) schedule();
      } catch (error) {
        onFatal(error);
      }
    }, ERASURE_DELAY_MS).unref();
  };
  const finish = (): void => {
    if (due === null) return;
    clearTimeout(due);
    erase();
  };
  return { erase, schedule, finish };
}

function removes({ method, parameters: [command] }: Call, outcome: Outcome | undefined): boolean {
  if (outcome === undefined || !("value" in outcome)) return false;
  if (method === "sessions.expire") return true;
  if (method === "search.index") return (outcome.value as IndexedBatch).removed > 0;
  if (method !== "execute") return false;
  const { kind, input } = command as SessionCommand;
  return kind === "delete" || (kind === "chat" && input.replaces !== null);
}
