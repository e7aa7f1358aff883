// All simulated people of a run: they start together, and at the end all their sessions must become idle.

import type { Random } from "./harness/random.ts";
import { checkLeftBehind, runPerson, type SettledSession } from "./load.ts";
import type { LoadContext } from "./session-client.ts";
import type { Violations } from "./violations.ts";

/** Milliseconds after the last fault within which every session must become idle. */
const REST_MS = 120_000;

/** Sessions that each person has left in order. */
type People = readonly Promise<readonly SettledSession[]>[];

/** Each works until `stopping` is aborted. */
export function startPeople(
  context: LoadContext,
  count: number,
  random: Random,
  stopping: AbortSignal,
): People {
  let serial = 0;
  return Array.from({ length: count }, (_, index) =>
    runPerson(context, random.fork(`person ${index}`), () => (serial += 1), stopping),
  );
}

/**
 * Waits for stopped people and checks their sessions. Returns the number of sessions. `giveUp` is the
 * context's.
 */
export async function settlePeople(
  people: People,
  context: LoadContext,
  giveUp: AbortController,
): Promise<number> {
  const timer = setTimeout(() => giveUp.abort(new Error("The session did not become idle")), REST_MS);
  const settled = await Promise.allSettled(people);
  for (const outcome of settled) {
    if (outcome.status === "fulfilled") {
      await checkLeftBehind(outcome.value, context).catch((error: unknown) =>
        noteStuck(context.violations, error),
      );
    } else noteStuck(context.violations, outcome.reason);
  }
  clearTimeout(timer);
  return settled.reduce((sum, one) => sum + (one.status === "fulfilled" ? one.value.length : 0), 0);
}

function noteStuck(violations: Violations, error: unknown): void {
  violations.add("stuck", "load", String(error), error instanceof Error ? (error.stack ?? "") : "");
}
