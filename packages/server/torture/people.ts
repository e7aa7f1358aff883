// All people of a run: they begin together, and when it ends everything of theirs must come to rest.

import type { Random } from "./harness/random.ts";
import { checkLeftBehind, runPerson, type SettledSession } from "./load.ts";
import type { LoadContext } from "./session-client.ts";
import type { Violations } from "./violations.ts";

/** After the last fault everything must come to rest within this time, in milliseconds. */
const REST_MS = 120_000;

/** What each person has left in order, once it is done. */
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

/** Waits for people who were stopped and looks at what they left behind. Answers the number of their sessions. `giveUp` is the context's. */
export async function settlePeople(
  people: People,
  context: LoadContext,
  giveUp: AbortController,
): Promise<number> {
  const timer = setTimeout(() => giveUp.abort(new Error("The session did not come to rest")), REST_MS);
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
