import type { ToolCallStatus } from "@colloquy/client";

/** How a call goes, as a person sees it. */
export type CallLook = ToolCallStatus | "asking" | "denied" | "unanswered";

/** What the service says as the result of a call that it did not make (core/commands/actions.ts of the server; the test beside this holds them together). */
const NOT_MADE: ReadonlyMap<unknown, CallLook> = new Map([
  ["The user denied this call.", "denied"],
  ["The user did not answer in time, so this call was not made.", "unanswered"],
]);

/** A call that a person did not want has not failed, though it has no other result. */
export function lookOf(status: ToolCallStatus, isAsking: boolean, result: unknown): CallLook {
  if (isAsking) return "asking";
  return status === "failed" ? (NOT_MADE.get(result) ?? status) : status;
}

/** What a tool told of itself, whatever it is: the words in it, how far it is, else all of it. */
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
