// Applies a chat of the AI SDK to the session, before its stream begins.

import { createHash } from "node:crypto";
import type { PendingAction } from "@colloquy/protocol";
import type { Actor } from "../../core/audit.ts";
import { NotFound, ServiceError, throwAfterCommit, unknownSession } from "../../core/errors.ts";
import type { ChatRequest, SentMessage } from "../../core/ports/driving/chat-request.ts";
import type { NewSessionOptions, Services } from "../../core/ports/driving/services.ts";
import type { SessionAccess } from "../../core/session-access.ts";
import type { ChatBody, SentAnswer, SentText } from "./request.ts";
import { startInProgress, startOfAny, startOfQueued, type Start } from "./turn-state.ts";
import type { CallAnswer } from "./ui-message.ts";

type Conversations = Pick<Services, "conversations">;
type Trigger = Pick<ChatBody, "trigger" | "messageId">;

/** Options that never create a missing session. */
export const EXISTING: NewSessionOptions = {
  spelling: "",
  admit: () => {
    throw unknownSession();
  },
};

/** Sends a message. Returns the start of its answer's stream. */
export async function sendText(
  { conversations }: Conversations,
  chat: Omit<ChatRequest, "idempotencyKey" | "messageId" | "message">,
  message: SentText & Trigger,
  creation: NewSessionOptions,
): Promise<Start> {
  const { turn, isRepeat, position } = await addOrReplace({ conversations }, chat, message, creation);
  const begun = startInProgress(position, (answer) => answer.turn === turn);
  if (begun !== null) return begun;
  if (!isRepeat && position.isProcessing) return startOfQueued(position, turn);
  const view = await snapshot({ conversations }, chat).catch(throwAfterCommit);
  return startOfAny(view, (one) => one.turn === turn) ?? startOfQueued(position, turn);
}

/** Adds a message, or replaces the one with its id if the text differs or its answer must be regenerated. */
async function addOrReplace(
  { conversations }: Conversations,
  chat: Omit<ChatRequest, "idempotencyKey" | "messageId" | "message">,
  message: SentText & Trigger,
  creation: NewSessionOptions,
): Promise<SentMessage> {
  const own = { ...chat, message: message.text, messageId: message.id };
  const add = (): Promise<SentMessage> => conversations.send({ ...own, idempotencyKey: null }, creation);
  const replace = (): Promise<SentMessage> =>
    conversations.send({ ...own, replaces: message.id, idempotencyKey: keyOf(message) }, creation);
  const [first, second, reason] =
    message.trigger === "submit-message"
      ? ([add, replace, "message_exists"] as const)
      : // The message did not arrive when it was sent first.
        ([replace, add, "message_not_found"] as const);
  try {
    return await first();
  } catch (error) {
    if (error instanceof ServiceError && error.code === reason) return await second();
    throw error;
  }
}

/**
 * Returns the idempotency key of a request that names the answer to replace; `null` for others, because the
 * same request may then concern another answer.
 */
function keyOf({ trigger, messageId = null, id, text }: SentText & Trigger): string | null {
  if (messageId === null || messageId.toLowerCase() === id) return null;
  return createHash("sha256")
    .update(JSON.stringify([trigger, messageId, id, text]))
    .digest("base64url");
}

interface Answering {
  readonly sessionId: string;
  readonly access: SessionAccess;
  readonly by: Actor;
  /** Called before an answer is stored; rejects to forbid it. */
  readonly admit: (answer: unknown) => Promise<void>;
}

/** Decides the actions of an answer's calls. Returns the start of the continued answer's stream. */
export async function answerCalls(
  { conversations, actions }: Pick<Services, "conversations" | "actions">,
  { sessionId, access, by, admit }: Answering,
  { id, answers }: SentAnswer,
): Promise<Start> {
  const before = await conversations.position(sessionId, access);
  if (before === null) throw unknownSession();
  for (const { actionId, isClaimed, ...decided } of decisionsOn(before.pendingActions, answers)) {
    await admit(decided);
    const decide = async (): Promise<void> => {
      const claim = isClaimed ? (await actions.claim(sessionId, actionId, {}, access)).claim : null;
      await actions.decide(sessionId, actionId, { ...decided, ...(claim !== null && { claim }) }, access, by);
    };
    await decide().catch(ignoreDecided);
  }
  const position = (await conversations.position(sessionId, access)) ?? before;
  const begun = startInProgress(position, (answer) => answer.id === id);
  if (begun !== null) return begun;
  const start = startOfAny(await snapshot({ conversations }, { sessionId, access }), (one) => one.id === id);
  if (start !== null) return start;
  throw new NotFound(
    "message_not_found",
    "The session has no message with this id. Load its messages again.",
  );
}

/**
 * Returns the first decision on each pending action. Clients send all answers of the message again: those of
 * other actions were decided earlier, and the service has their results.
 */
function decisionsOn(pending: readonly PendingAction[], answers: readonly CallAnswer[]) {
  const left = new Map(pending.map((action) => [keyOfAction(action), action]));
  return answers.flatMap((answer) => {
    const key = "approvalId" in answer ? approvalKey(answer.approvalId) : callKey(answer.callId);
    const action = left.get(key);
    if (action === undefined) return [];
    left.delete(key);
    return [decisionOf(answer, action)];
  });
}

function keyOfAction({ id, kind, call_id }: PendingAction): string {
  return kind === "approval" ? approvalKey(id) : callKey(call_id);
}

function approvalKey(id: string): string {
  return `approval ${id}`;
}

function callKey(id: string): string {
  return `call ${id}`;
}

function decisionOf(answer: CallAnswer, { id: actionId, kind }: PendingAction) {
  if ("approvalId" in answer) {
    const decision = answer.approved ? ("approve" as const) : ("deny" as const);
    return { actionId, isClaimed: false, decision, result: null };
  }
  if (kind === "client_tool") {
    const result = "output" in answer ? { output: answer.output } : { error: answer.errorText };
    return { actionId, isClaimed: true, decision: "approve" as const, result };
  }
  return "output" in answer
    ? { actionId, isClaimed: false, decision: "approve" as const, result: answer.output }
    : { actionId, isClaimed: false, decision: "deny" as const, result: null };
}

/** Ignores actions that were decided otherwise, have expired or were cancelled: the stream shows the call's result. */
function ignoreDecided(error: unknown): void {
  if (!(error instanceof ServiceError) || ![409, 410].includes(error.status)) throw error;
}

async function snapshot(
  { conversations }: Conversations,
  { sessionId, access }: Pick<ChatRequest, "sessionId" | "access">,
) {
  const signal = new AbortController().signal;
  return await conversations.state({ sessionId, access, userState: null, waitMs: 0, signal }, EXISTING);
}
