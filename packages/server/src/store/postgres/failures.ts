// Classifies PostgreSQL's errors: a full disk, an unavailable database, a transaction worth repeating, or a defect
// (postgresql.org/docs/current/errcodes-appendix.html).

import { DatabaseError } from "pg";
import { OutcomeUnknown, ServiceError } from "../../core/errors.ts";
import { storeFull, storeUnavailable } from "../unavailable.ts";

const DISK_FULL = "53100";

/** Not defects: broken connections (08), no resources (53), interventions and restarts (57), the operating system (58). */
const ENVIRONMENT_CLASSES: ReadonlySet<string> = new Set(["08", "53", "57", "58"]);

const LOCK_NOT_AVAILABLE = "55P03";

/** `read_only_sql_transaction` is a standby that was not promoted yet; the others are credentials and locks. */
const ENVIRONMENT_STATES: ReadonlySet<string> = new Set([
  LOCK_NOT_AVAILABLE,
  "25006",
  "28000",
  "28P01",
  "3D000",
]);

const UNIQUE_VIOLATION = "23505";
/** Deadlocks, serialization failures. */
const ROLLBACKS: ReadonlySet<string> = new Set(["40P01", "40001"]);

/** The server did not answer: no connection, a broken one, or a timeout. */
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

/** Turns an error that is not from the server into `ConnectionLost`. */
export function connectionLost(error: unknown): Error {
  return error instanceof DatabaseError ? error : new ConnectionLost(error);
}

/**
 * Returns true if the error is the server's answer, so that nothing sent behind it in the transaction has an
 * effect.
 */
export function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError;
}

/** Returns true if the server rejected one statement and keeps the connection. */
export function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && error.severity === "ERROR";
}

/** Returns true if the same transaction may succeed if repeated at once. */
export function isWorthRepeating(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  // Another node created a session with the same id at the same moment.
  if (error.code === UNIQUE_VIOLATION) return error.constraint === "sessions_id";
  return ROLLBACKS.has(error.code ?? "");
}

export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE;
}

/** Returns true if every other transaction would fail in the same way now. */
export function concernsAll(error: unknown): boolean {
  // After an unknown outcome nothing may be repeated.
  if (error instanceof ConnectionLost || error instanceof OutcomeUnknown) return true;
  return error instanceof DatabaseError && !isRefusal(error);
}

/** The error for the caller. */
export function answerOf(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (error instanceof ConnectionLost) return storeUnavailable(error);
  if (!(error instanceof DatabaseError)) return error;
  const state = error.code ?? "";
  if (state === DISK_FULL) return storeFull(error);
  const isEnvironment =
    !isRefusal(error) ||
    ENVIRONMENT_CLASSES.has(state.slice(0, 2)) ||
    ENVIRONMENT_STATES.has(state) ||
    ROLLBACKS.has(state);
  return isEnvironment ? storeUnavailable(error) : error;
}
