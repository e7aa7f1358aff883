// Errors of a failing store, shared by all adapters.

import { OutcomeUnknown, Unavailable } from "../core/errors.ts";

export function storeFull(cause: unknown): Unavailable {
  return new Unavailable(
    507,
    "insufficient_storage",
    "The disk of this service is full, and nothing was changed. Try again later.",
    30,
    cause,
  );
}

export function storeUnavailable(cause: unknown): Unavailable {
  return new Unavailable(
    503,
    "store_unavailable",
    "The store of this service cannot be written right now, and nothing was changed. Try again shortly.",
    1,
    cause,
  );
}

/** The files of the store were removed, replaced or made read-only; the log says what its operator must do. */
export function storeLost(cause: unknown): Unavailable {
  return new Unavailable(
    503,
    "store_unavailable",
    "The files of this service's store are gone or cannot be written, and nothing was changed. The operator of the service must look at its log.",
    30,
    cause,
  );
}

/** The connection was lost during a commit, and the outcome could not be looked up. */
export function storeUncertain(cause: unknown): OutcomeUnknown {
  return new OutcomeUnknown(
    503,
    "outcome_unknown",
    "The connection to the store broke during a write. Check whether the request took effect before you send it again, or send it with the same Idempotency-Key.",
    1,
    cause,
  );
}

export function storeClosed(cause: unknown): Unavailable {
  return new Unavailable(
    503,
    "store_closed",
    "This service is stopping. Check whether the request took effect before you send it again.",
    5,
    cause,
  );
}
