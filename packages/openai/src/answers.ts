// Applies clients' answers to calls and approval requests, as decisions on the conversation's actions.

import type { PendingAction } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine";
import type { ProtocolConversation } from "@colloquy/server/protocol";
import { parseActionRef } from "./ids.ts";
import { invalid } from "./errors.ts";
import { isJsonObject, jsonOrText } from "./json.ts";
import type { CallAnswer } from "./transcript.ts";

/** Returns the session of the answered calls; `null` if they are in several sessions, or none is from this service. */
export function sessionOfAnswers(answers: readonly CallAnswer[]): string | null {
  const sessions = new Set(answers.flatMap((answer) => parseActionRef(idOf(answer))?.session ?? []));
  return sessions.size === 1 ? ([...sessions][0] ?? null) : null;
}

/** Returns the ids of the actions that the answers decide. */
export function actionsIn(answers: readonly CallAnswer[]): readonly string[] {
  return answers.flatMap((answer) => parseActionRef(idOf(answer))?.action ?? []);
}

/**
 * Decides the answered actions that are still pending. Ignores answers to actions that were decided before: the
 * response shows their results.
 */
export async function decideAll(
  conversation: ProtocolConversation,
  answers: readonly CallAnswer[],
): Promise<void> {
  const { pending_actions: pending } = await conversation.snapshot();
  for (const answer of answers) {
    const ref = parseActionRef(idOf(answer));
    const action = pending.find(({ id }) => id === ref?.action && ref.session === conversation.id);
    if (action === undefined) continue;
    const { claims, ...decision } = decisionOf(answer, action);
    await conversation.decide(action.id, decision, { claims }).catch(ignoreDecided);
  }
}

function idOf(answer: CallAnswer): string {
  return answer.kind === "output" ? answer.callId : answer.requestId;
}

function decisionOf(answer: CallAnswer, { kind, id }: PendingAction) {
  if (answer.kind === "decision") {
    if (kind !== "approval") throw invalid("input", `cannot approve ${id}: send a function_call_output`);
    const decision = answer.approve ? ("approve" as const) : ("deny" as const);
    return { claims: false, decision, result: null };
  }
  const decision = "approve" as const;
  const output = jsonOrText(answer.output);
  if (kind === "approval")
    throw invalid("input", `cannot answer ${id} with an output: send an mcp_approval_response`);
  if (kind === "client_tool") return { claims: true, decision, result: { output } };
  if (kind === "question" && !isJsonObject(output))
    return { claims: false, decision, result: { answer: answer.output } };
  return { claims: false, decision, result: output };
}

/** Ignores errors for actions that were decided in the meantime, expired or were cancelled. */
function ignoreDecided(error: unknown): void {
  if (!(error instanceof ServiceError) || ![409, 410].includes(error.status)) throw error;
}
