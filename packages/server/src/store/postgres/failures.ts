// What PostgreSQL's errors mean to whoever called: a full disk, a database that cannot be reached or used for now, a transaction that may
// simply be run again, or a mistake of ours (postgresql.org/docs/current/errcodes-appendix.html).

import { DatabaseError } from "pg";
import { OutcomeUnknown, ServiceError } from "../../core/errors.ts";
import { storeFull, storeUnavailable } from "../unavailable.ts";

const DISK_FULL = "53100";

/** The world's, not ours: broken connections (08), no resources (53), interventions and restarts (57), the operating system (58). */
const CLASSES_OF_THE_WORLD: ReadonlySet<string> = new Set(["08", "53", "57", "58"]);

const LOCK_NOT_AVAILABLE = "55P03";

/** `read_only_sql_transaction`: a standby that was not promoted yet; wrong or missing credentials. */
const STATES_OF_THE_WORLD: ReadonlySet<string> = new Set([
  LOCK_NOT_AVAILABLE,
  "25006",
  "28000",
  "28P01",
  "3D000",
]);

const UNIQUE_VIOLATION = "23505";
/** Deadlocks, serialization failures. */
const ROLLBACKS: ReadonlySet<string> = new Set(["40P01", "40001"]);

/** No word of the server: the connection could not be had, broke, or was silent for too long. */
class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super(
      `The connection to the database was lost (${cause instanceof Error ? cause.message : String(cause)})`,
      {
        cause,
      },
    );
    this.name = "ConnectionLost";
  }
}

/** The error of a statement or of connecting, as one of the two kinds: what the server said, or that the connection is lost. */
export function connectionLost(error: unknown): Error {
  return error instanceof DatabaseError ? error : new ConnectionLost(error);
}

/** Whether the server said it, so that it has done nothing of what was sent behind it in the same transaction. */
export function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError;
}

/** Whether the server itself refused, and goes on on this connection: then nothing of the statement was done. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.severity === "ERROR";
  return false;
}

/** Whether the same transaction may succeed when it is run again at once. */
export function isWorthRepeating(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  // Somebody else began the life of a session of the same id at the same moment: now it is there.
  if (error.code === UNIQUE_VIOLATION) return error.constraint === "sessions_id";
  return ROLLBACKS.has(error.code ?? "");
}

/** Whether somebody else has held for too long what was waited for. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE;
}

/** Whether every other transaction would fail in the same way now. */
export function concernsAll(error: unknown): boolean {
  // Of a commit whose end nobody knows, nothing may be run again.
  if (error instanceof ConnectionLost || error instanceof OutcomeUnknown) return true;
  return error instanceof DatabaseError && !isRefusal(error);
}

/** The error that whoever called is answered with. */
export function answerOf(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (error instanceof ConnectionLost) return storeUnavailable(error);
  if (!(error instanceof DatabaseError)) return error;
  const state = error.code ?? "";
  if (state === DISK_FULL) return storeFull(error);
  const isOfTheWorld =
    !isRefusal(error) ||
    CLASSES_OF_THE_WORLD.has(state.slice(0, 2)) ||
    STATES_OF_THE_WORLD.has(state) ||
    ROLLBACKS.has(state);
  return isOfTheWorld ? storeUnavailable(error) : error;
}
