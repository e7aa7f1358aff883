// Classifies PostgreSQL's errors: a full disk, an unavailable database, a transaction worth repeating, or a defect
// (postgresql.org/docs/current/errcodes-appendix.html).

import { DatabaseError } from "pg";
import { OutcomeUnknown, ServiceError } from "@colloquy/engine/internal/core/errors";
import { storeFull, storeUnavailable } from "@colloquy/engine/internal/store/unavailable";

const DISK_FULL = "53100";

/**
 * Classes of errors that are not defects: broken connections (08), insufficient resources (53), operator
 * intervention and restarts (57), system errors (58).
 */
const ENVIRONMENT_CLASSES: ReadonlySet<string> = new Set(["08", "53", "57", "58"]);

const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Single errors that are not defects: a standby that is not promoted yet (`read_only_sql_transaction`),
 * credentials and locks.
 */
const ENVIRONMENT_STATES: ReadonlySet<string> = new Set([
  LOCK_NOT_AVAILABLE,
  "25006",
  "28000",
  "28P01",
  "3D000",
]);

const UNIQUE_VIOLATION = "23505";
/** Deadlocks and serialization failures. */
const ROLLBACKS: ReadonlySet<string> = new Set(["40P01", "40001"]);

/** The server did not respond: the connection failed or broke, or the request timed out. */
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

/** Wraps an error that is not from the server in `ConnectionLost`. */
export function connectionLost(error: unknown): Error {
  return error instanceof DatabaseError ? error : new ConnectionLost(error);
}

/** Returns true if the server sent this error, so that the rest of the transaction has no effect. */
export function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError;
}

/** Returns true if the server rejected one statement and keeps the connection open. */
export function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && error.severity === "ERROR";
}

/** Returns true if the transaction may succeed when it is repeated at once. */
export function isWorthRepeating(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  // Another node created a session with the same id at the same time.
  if (error.code === UNIQUE_VIOLATION) return error.constraint === "sessions_id";
  return ROLLBACKS.has(error.code ?? "");
}

export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE;
}

/** Returns true if the connection is unusable, so that the other changes of a group would fail on it too. */
export function breaksConnection(error: unknown): boolean {
  // Nothing may be repeated after an unknown outcome.
  if (error instanceof ConnectionLost || error instanceof OutcomeUnknown) return true;
  return error instanceof DatabaseError && !isRefusal(error);
}

/** Returns the error that the caller gets. */
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
