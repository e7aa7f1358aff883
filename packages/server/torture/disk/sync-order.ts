// Verifies durability by system calls, because the kernel keeps writes of a process killed with kill -9:
// between the arrival of a message and its answer, the log must have been written and synced.

import type { SystemCallEvent } from "./system-calls.ts";
import { placesOf, type TracedRun } from "./traced-run.ts";

/** Returns descriptions of messages answered before a covering sync completed. */
export function findUnsynced(run: Pick<TracedRun, "events" | "messages">): string[] {
  return placesOf(run).flatMap(({ text, received, sent }) => {
    const between = run.events.slice(received, sent);
    const written = between.findIndex(
      (event) => event.kind === "write" && isLog(event) && event.data.includes(text),
    );
    if (written < 0) return [`${text} was acknowledged before it was written to the log`];
    return isSynced(between.slice(written)) ? [] : [`${text} was acknowledged before the log was synced`];
  });
}

/** Returns true if a complete sync of the log is among the events. */
function isSynced(events: readonly SystemCallEvent[]): boolean {
  const begins = events.findIndex((event) => event.kind === "sync begins" && isLog(event));
  const begun = events[begins];
  return (
    begun?.kind === "sync begins" &&
    events
      .slice(begins)
      .some(
        (other) => other.kind === "sync ends" && other.path === begun.path && other.thread === begun.thread,
      )
  );
}

function isLog(event: { readonly path: string }): boolean {
  return event.path.endsWith("-wal");
}
