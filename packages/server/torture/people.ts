// All simulated people of a run: they start together, and at the end all their sessions must become idle. The approvers work until
// then.

import { runApprover } from "./approvers.ts";
import type { Random } from "./harness/random.ts";
import { checkLeftBehind, runPerson, type SettledSession } from "./load.ts";
import type { Office } from "./office.ts";
import type { LoadContext } from "./session-client.ts";
import type { Violations } from "./violations.ts";

/** Milliseconds after which a run that hangs is ended. Sessions that are stuck are found by `stuckMs`. */
const REST_MS = 900_000;

interface People {
  /** Sessions that each person has left in order. */
  readonly left: readonly Promise<readonly SettledSession[]>[];
  readonly approvers: readonly Promise<void>[];
  /** Ends the approvers. */
  readonly closing: AbortController;
}

/** Each works until `stopping` is aborted, and the approvers until `settlePeople` ends them. */
export function startPeople(
  context: LoadContext,
  count: number,
  random: Random,
  stopping: AbortSignal,
): People {
  let serial = 0;
  const left = Array.from({ length: count }, (_, index) =>
    runPerson(context, random.fork(`person ${index}`), () => (serial += 1), stopping),
  );
  const { office } = context;
  const closing = new AbortController();
  const approvers =
    office === null
      ? []
      : office.approvers.map(async (user) => {
          const own = random.fork(`approver ${user.name}`);
          await runApprover(user, office, context, own, stopping, closing.signal).catch((error: unknown) => {
            if (!context.giveUp.aborted) throw error;
          });
        });
  // Awaited only at the end: an error before it must not end the process.
  for (const approver of approvers) approver.catch(() => undefined);
  return { left, approvers, closing };
}

/**
 * Waits for stopped people and checks their sessions. Returns the number of sessions. `giveUp` is the
 * context's.
 */
export async function settlePeople(
  { left, approvers, closing }: People,
  context: LoadContext,
  giveUp: AbortController,
): Promise<number> {
  const timer = setTimeout(() => giveUp.abort(new Error("The session did not become idle")), REST_MS);
  const settled = await Promise.allSettled(left);
  for (const outcome of settled) {
    if (outcome.status === "fulfilled") {
      await checkLeftBehind(outcome.value, context).catch((error: unknown) =>
        noteStuck(context.violations, error),
      );
    } else noteStuck(context.violations, outcome.reason);
  }
  clearTimeout(timer);
  closing.abort();
  await Promise.all(approvers);
  if (context.office !== null) countDecisions(context, context.office);
  return settled.reduce((sum, one) => sum + (one.status === "fulfilled" ? one.value.length : 0), 0);
}

function countDecisions({ done }: LoadContext, office: Office): void {
  const { ledger } = office;
  ledger.checkEffects(office.effects());
  done.decisions = ledger.decided;
  done.expiries = ledger.expired;
}

function noteStuck(violations: Violations, error: unknown): void {
  violations.add("stuck", "load", String(error), error instanceof Error ? (error.stack ?? "") : "");
}
