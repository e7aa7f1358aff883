// What assistant-ui's components give back when a person has decided, as a decision of Colloquy. Pure.

import type { RespondToToolApprovalOptions } from "@assistant-ui/react";
import type { Decision, PendingAction } from "@colloquy/client";

/** Throws where a question is approved without an answer. */
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

/** What a wallet's interrupt is resumed with. */
export function isDecision(payload: unknown): payload is Decision {
  if (typeof payload !== "object" || payload === null) return false;
  const { decision } = payload as Record<string, unknown>;
  return decision === "approve" || decision === "deny";
}
