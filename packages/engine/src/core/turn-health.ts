// Detects stuck turns for operators. Sweeps of leases and actions repair some of them.

import type { AdminSessionStatus } from "@colloquy/protocol";
import { ranInAttempt } from "./turn.ts";
import type { SeenSession, SeenTurn } from "./ports/driven/admin-store.ts";

/** Tolerance for expired leases in milliseconds; they are swept every second. */
const SWEPT_MS = 5_000;
/** Tolerance for other limits in milliseconds. */
const LATE_MS = 60_000;

export interface HealthLimits {
  /** `limits.turnMs`, in milliseconds. */
  readonly turnMs: number;
}

/**
 * Returns why the first open turn of a session is stuck, `null` if it is not. `at` and `changedAt` (the session's last change) are
 * milliseconds since the Unix epoch on the store's clock.
 */
export function whyStuck(
  current: SeenTurn,
  changedAt: number,
  at: number,
  { turnMs }: HealthLimits,
): string | null {
  const { turn, lease, decideBy } = current;
  if (turn.endedAt !== null) return null;
  if (turn.state === "waiting") return whyStillWaiting(decideBy, at);
  if (turn.runnable) {
    const isOver = at - Math.max(turn.enqueuedAt, changedAt) > turnMs + LATE_MS;
    return isOver ? "It may run, and no process has taken it for longer than a turn may run at all." : null;
  }
  if (turn.state === "queued") return "It is the first in line, and may not be started.";
  if (lease === null) return "It counts as running, and no process has its lease.";
  if (at - lease.expiresAt > SWEPT_MS) {
    return "The lease of the process that ran it has run out, and no process has taken it over.";
  }
  const ranMs = turn.ranMs + ranInAttempt(turn, lease, at);
  return ranMs > turnMs + LATE_MS ? "It has run for longer than a turn may (limits.turnMs)." : null;
}

function whyStillWaiting(decideBy: number | null, at: number): string | null {
  if (decideBy === null) return "It waits for a person, and nobody is asked.";
  return at - decideBy > LATE_MS ? "The time to decide is over, and it has not gone on." : null;
}

/** Returns the status shown to operators; `stuck` as in `whyStuck`. */
export function sessionStatus(session: SeenSession, at: number, limits: HealthLimits): AdminSessionStatus {
  if (session.turn === null) return "idle";
  const { state, endedAt } = session.turn.turn;
  if (endedAt !== null) return state === "failed" ? "failed" : "idle";
  if (whyStuck(session.turn, session.updatedAt, at, limits) !== null) return "stuck";
  return state === "waiting" ? "waiting" : "processing";
}
