import type { PendingAction, ToolCall, ToolCallStatus, ToolResult } from "@colloquy/client";

/** State of a call as shown. */
export type CallAppearance = ToolCallStatus | "asking" | "away" | "denied" | "unanswered";

/** A denied call has not failed, although its result is an error. `action` is the call's pending one. */
export function appearanceOf(
  { status, decision }: Pick<ToolCall, "status" | "decision">,
  action: PendingAction | null,
): CallAppearance {
  if (action?.kind === "client_tool") return action.claim_expires_at === null ? "away" : "running";
  if (action !== null) return "asking";
  if (status !== "failed") return status;
  if (decision?.status === "denied") return "denied";
  // A page may have run a client tool without reporting its result.
  return decision?.status === "expired" && decision.kind !== "client_tool" ? "unanswered" : status;
}

/** Returns the milliseconds that a call ran; `null` if it did not, or a person gave its result. */
export function runTime({ status, decision }: ToolCall, result: ToolResult | null): number | null {
  const isByPerson =
    decision !== undefined && (decision.kind !== "approval" || decision.status !== "approved");
  const hasRun = status === "complete" || status === "failed";
  return hasRun && !isByPerson ? (result?.duration_ms ?? null) : null;
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
