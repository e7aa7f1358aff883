// How long a turn has run, over all of its attempts (contract section 3): the store keeps it, because a turn outlives its owners.

import type { Lease, TurnRecord } from "../turn.ts";

/**
 * Milliseconds that a turn ran under a lease that ends at `at`, on the store's clock. Whoever had a lease that has run out may have died at
 * any moment, but had stopped when it ran out. `null`, and a lease that does not say since when it is held, count as nothing: the attempt
 * was counted already, or was begun by a node of the version before.
 */
export function ranUnder(lease: Lease | null, at: number): number {
  if (lease === null || lease.takenAt === null) return 0;
  return Math.max(0, Math.min(at, lease.expiresAt) - lease.takenAt);
}

/**
 * Milliseconds that a turn has run until `at` in the attempt under way; 0 where none is, or nobody knows when it began. Where the lease is
 * known that it runs under, not beyond its end, as `ranUnder` has it.
 */
export function ranInAttempt(
  { state, runnable, attemptAt }: Pick<TurnRecord, "state" | "runnable" | "attemptAt">,
  lease: Pick<Lease, "expiresAt"> | null,
  at: number,
): number {
  if (state !== "running" || runnable || attemptAt === null) return 0;
  return Math.max(0, Math.min(at, lease?.expiresAt ?? at) - attemptAt);
}
