// Applies clients' answers to calls and approval requests, as decisions on the conversation's actions.

import type { PendingAction } from "@colloquy/protocol";
import { isActionResult } from "@colloquy/protocol/action-results";
import { ServiceError } from "@colloquy/engine";
import type { ProtocolConversation } from "@colloquy/server/protocol";
import { parseActionRef } from "./ids.ts";
import { invalid } from "./errors.ts";
import { type DecodedFile, decodeFiles, storeFiles } from "./input-files.ts";
import { isJsonObject, type JsonValue, jsonOrText } from "./json.ts";
import type { CallAnswer } from "./transcript.ts";

const EXPECTED = {
  question: "must answer the question with 1 to 4,096 characters",
  wallet_transaction: 'must answer with {"transaction_hash": "0x…"}',
  wallet_signature: 'must answer with {"signature": "0x…"}',
} as const;

/** A client's answer with decoded files. */
export type DecodedAnswer =
  | Exclude<CallAnswer, { readonly kind: "output" }>
  | (Omit<Extract<CallAnswer, { readonly kind: "output" }>, "files"> & {
      readonly files: readonly DecodedFile[];
    });

/** Throws a `ServiceError` 400 with the name of the field if a file is malformed. */
export function decodeAnswers(answers: readonly CallAnswer[]): readonly DecodedAnswer[] {
  return answers.map((answer) =>
    answer.kind === "output" ? { ...answer, files: decodeFiles(answer.files ?? []) } : answer,
  );
}

/** Returns the session of the answered calls; `null` if they are in several sessions, or none is from this service. */
export function sessionOfAnswers(answers: readonly CallAnswer[]): string | null {
  const sessions = new Set(answers.flatMap((answer) => parseActionRef(idOf(answer))?.session ?? []));
  return sessions.size === 1 ? ([...sessions][0] ?? null) : null;
}

/** Returns the ids of the actions that the answers decide. */
export function actionsIn(answers: readonly DecodedAnswer[]): readonly string[] {
  return answers.flatMap((answer) => parseActionRef(idOf(answer))?.action ?? []);
}

/**
 * Stores the files of the outputs, then decides the pending actions. Ignores answers to actions that were decided
 * before: the response shows their results.
 */
export async function decideAll(
  conversation: ProtocolConversation,
  answers: readonly DecodedAnswer[],
): Promise<void> {
  const { pending_actions: pending } = await conversation.snapshot();
  const decisions: Parameters<ProtocolConversation["decide"]>[] = [];
  for (const answer of answers) {
    const ref = parseActionRef(idOf(answer));
    const action = pending.find(({ id }) => id === ref?.action && ref.session === conversation.id);
    if (action === undefined) continue;
    decisions.push([action.id, await decisionOf(conversation, answer, action)]);
  }
  // Decide last: an invalid answer or file must reject the whole request.
  for (const decision of decisions) await conversation.decide(...decision).catch(ignoreDecided);
}

function idOf(answer: CallAnswer | DecodedAnswer): string {
  return answer.kind === "output" ? answer.callId : answer.requestId;
}

async function decisionOf(
  conversation: ProtocolConversation,
  answer: DecodedAnswer,
  { kind, id }: PendingAction,
) {
  if (answer.kind === "decision") {
    if (kind !== "approval") throw invalid("input", `cannot approve ${id}: send a function_call_output`);
    const decision = answer.approve ? ("approve" as const) : ("deny" as const);
    return { decision, result: null };
  }
  const decision = "approve" as const;
  const output = jsonOrText(answer.output);
  if (kind === "approval")
    throw invalid("input", `cannot answer ${id} with an output: send an mcp_approval_response`);
  const [file] = answer.files;
  if (kind === "client_tool") {
    if (file === undefined) return { decision, result: { output } };
    const attachments = [...(await storeFiles(conversation, answer.files))];
    return { decision, result: { output, attachments } };
  }
  if (file !== undefined)
    throw invalid(file.field, `cannot be a file: ${id} is not a function call. Send text`);
  const result = kind === "question" && !isJsonObject(output) ? { answer: answer.output } : output;
  return { decision, result: checked(kind, result) };
}

/** Returns the result. Throws a `ServiceError` 400 if an action of this kind cannot have it. */
function checked(kind: keyof typeof EXPECTED, result: JsonValue): JsonValue {
  if (isActionResult(kind, result)) return result;
  throw invalid("input", EXPECTED[kind]);
}

/** Ignores errors for actions that were decided in the meantime, expired or were cancelled. */
function ignoreDecided(error: unknown): void {
  if (!(error instanceof ServiceError) || ![409, 410].includes(error.status)) throw error;
}
