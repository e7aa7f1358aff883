// kill -9 cannot tell whether a commit had reached the disk, because the kernel keeps what a dead process wrote. System
// calls can: between the arrival of a message and its answer, the log must have been written and synced.

import type { Happening } from "./system-calls.ts";
import { placesOf, type TracedRun } from "./traced-run.ts";

/** Messages whose answer was sent before a sync that covers them had ended, in words; none when all is well. */
export function findUnsynced(run: Pick<TracedRun, "happenings" | "messages">): string[] {
  return placesOf(run).flatMap(({ text, received, sent }) => {
    const between = run.happenings.slice(received, sent);
    const written = between.findIndex(
      (happening) => happening.kind === "write" && isLog(happening) && happening.data.includes(text),
    );
    if (written < 0) return [`${text} was acknowledged before it was written to the log`];
    return isSynced(between.slice(written)) ? [] : [`${text} was acknowledged before the log was synced`];
  });
}

/** Whether a whole sync of the log stands in there, from its begin to its end. */
function isSynced(happenings: readonly Happening[]): boolean {
  const begins = happenings.findIndex((happening) => happening.kind === "sync begins" && isLog(happening));
  const begun = happenings[begins];
  return (
    begun?.kind === "sync begins" &&
    happenings
      .slice(begins)
      .some(
        (other) => other.kind === "sync ends" && other.path === begun.path && other.thread === begun.thread,
      )
  );
}

function isLog(happening: { readonly path: string }): boolean {
  return happening.path.endsWith("-wal");
}
