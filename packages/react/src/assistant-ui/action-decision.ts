// Converts responses of assistant-ui's components into decisions of Colloquy.

import type { RespondToToolApprovalOptions } from "@assistant-ui/react";
import type { Decision, PendingAction } from "@colloquy/client";

/** Throws if a question is approved without an answer. */
export function decisionOf(action: PendingAction, response: RespondToToolApprovalOptions): Decision {
  if (!response.approved) return { decision: "deny" };
  if (action.kind !== "question") return { decision: "approve" };
  const { choices } = action.request;
  const chosen = response.optionId === undefined ? undefined : choices[Number(response.optionId)];
  const answer = response.text?.trim() || chosen;
  if (answer === undefined)
    throw new Error("A question needs an answer: give `text`, or the `optionId` of a choice.");
  return { decision: "approve", result: { answer } };
}

/** Returns true if `payload`, which resumes a wallet's interrupt, is a decision. */
export function isDecision(payload: unknown): payload is Decision {
  if (typeof payload !== "object" || payload === null) return false;
  const { decision } = payload as Record<string, unknown>;
  return decision === "approve" || decision === "deny";
}
