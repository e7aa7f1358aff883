// Applies a chat of the AI SDK to the session, before its stream begins.

import { createHash } from "node:crypto";
import type { PendingAction } from "@colloquy/protocol";
import { mayUserDecide } from "@colloquy/protocol/may-user-decide";
import {
  NotFound,
  type ProtocolConversation,
  type ProtocolMessage,
  type SentMessage,
  ServiceError,
  type Start,
  startInProgress,
  startOfAny,
  startOfQueued,
  startOfSent,
  throwAfterCommit,
  unknownSession,
} from "@colloquy/server/protocol";
import type { ChatBody, SentAnswer, SentText } from "./request.ts";
import type { CallAnswer } from "./ui-message.ts";

type Trigger = Pick<ChatBody, "trigger" | "messageId">;
type Chat = Omit<ProtocolMessage, "text" | "messageId" | "replaces" | "idempotencyKey">;

/** Sends a message. Returns the start of its answer's stream. */
export async function sendText(
  conversation: ProtocolConversation,
  chat: Chat,
  message: SentText & Trigger,
): Promise<Start> {
  const sent = await addOrReplace(conversation, chat, message);
  const { turn, position } = sent;
  const begun = startOfSent(sent);
  if (begun !== null) return begun;
  const snapshot = await conversation.snapshot().catch(throwAfterCommit);
  return startOfAny(snapshot, (one) => one.turn === turn) ?? startOfQueued(position, turn);
}

/** Adds a message, or replaces the one with its id if the text differs or its answer must be regenerated. */
async function addOrReplace(
  conversation: ProtocolConversation,
  chat: Chat,
  message: SentText & Trigger,
): Promise<SentMessage> {
  const { id, text } = message;
  const add = (): Promise<SentMessage> => conversation.send({ ...chat, text, messageId: id });
  const replace = (): Promise<SentMessage> =>
    conversation.send({ ...chat, text, messageId: id, replaces: id, idempotencyKey: keyOf(message, chat) });
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
function keyOf(
  { trigger, messageId = null, id, text }: SentText & Trigger,
  { attachments = [] }: Chat,
): string | null {
  if (messageId === null || messageId.toLowerCase() === id) return null;
  return createHash("sha256")
    .update(JSON.stringify([trigger, messageId, id, text, ...attachments]))
    .digest("base64url");
}

/** Decides the actions of an answer's calls. Returns the start of the continued answer's stream. */
export async function answerCalls(
  conversation: ProtocolConversation,
  { id, answers }: SentAnswer,
): Promise<Start> {
  const before = await conversation.position();
  if (before === null) throw unknownSession();
  for (const { actionId, ...decided } of decisionsOn(before.pendingActions, answers))
    await conversation.decide(actionId, decided).catch(ignoreDecided);
  const position = (await conversation.position()) ?? before;
  const begun = startInProgress(position, (answer) => answer.id === id);
  if (begun !== null) return begun;
  const start = startOfAny(await conversation.snapshot(), (one) => one.id === id);
  if (start !== null) return start;
  throw new NotFound(
    "message_not_found",
    "The session has no message with this id. Load its messages again.",
  );
}

/**
 * Returns the first decision on each pending action that the user may decide. Clients resend all decisions of
 * the message: those of other actions were decided earlier, and the service has their results.
 */
function decisionsOn(pending: readonly PendingAction[], answers: readonly CallAnswer[]) {
  const left = new Map(pending.filter(mayUserDecide).map((action) => [keyOfAction(action), action]));
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
    return { actionId, decision, result: null };
  }
  if (kind === "client_tool") {
    const result = "output" in answer ? { output: answer.output } : { error: answer.errorText };
    return { actionId, decision: "approve" as const, result };
  }
  return "output" in answer
    ? { actionId, decision: "approve" as const, result: answer.output }
    : { actionId, decision: "deny" as const, result: null };
}

/** Ignores actions that were decided otherwise, have expired or were cancelled: the stream shows the call's result. */
function ignoreDecided(error: unknown): void {
  if (!(error instanceof ServiceError) || ![409, 410].includes(error.status)) throw error;
}
