import type { PendingAction, ToolCallStatus } from "@colloquy/client";

/** State of a call as shown. */
export type CallAppearance = ToolCallStatus | "asking" | "away" | "denied" | "unanswered";

/**
 * The service's results for calls that were not made (core/commands/asking.ts of the server; the test
 * verifies that they match).
 */
const NOT_MADE: ReadonlyMap<unknown, CallAppearance> = new Map([
  ["The user denied this call.", "denied"],
  ["The user did not answer in time, so this call was not made.", "unanswered"],
]);

/** A denied call has not failed, although its result is an error. `action` is the call's pending one. */
export function appearanceOf(
  status: ToolCallStatus,
  action: PendingAction | null,
  result: unknown,
): CallAppearance {
  if (action?.kind === "client_tool") return action.claim_expires_at === null ? "away" : "running";
  if (action !== null) return "asking";
  return status === "failed" ? (NOT_MADE.get(result) ?? status) : status;
}

/** Returns progress of any shape as text: its message, its ratio, or all of it. */
export function progressText(progress: unknown): string {
  if (typeof progress === "string") return progress;
  if (typeof progress !== "object" || progress === null) return String(progress);
  const { message, progress: done, total } = progress as Readonly<Record<string, unknown>>;
  const far =
    typeof done === "number" ? (typeof total === "number" ? `${done} of ${total}` : String(done)) : null;
  const words = typeof message === "string" ? message : null;
  const told = [words, far].filter((part) => part !== null);
  return told.length > 0 ? told.join(" · ") : JSON.stringify(progress);
}
