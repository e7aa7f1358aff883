// Converts records to cells, in the order of their columns (columns.ts). rows.ts converts rows to records.

import type { ActionRecord } from "../core/action.ts";
import type { MessageRecord } from "../core/message.ts";
import { isEmptySession, type SessionRecord } from "../core/session.ts";
import type { TurnRecord } from "../core/turn.ts";

/**
 * Returns the retention class of a session: 0 if it is empty (removed soon), 1 without wallet and owner
 * (removed after the long expiry), 2 otherwise (never removed).
 */
export function retentionOf(
  session: Parameters<typeof isEmptySession>[0] & Pick<SessionRecord, "publicKey" | "owner">,
): 0 | 1 | 2 {
  if (isEmptySession(session)) return 0;
  return session.publicKey === null && session.owner === null ? 1 : 2;
}

/** The changing cells of a session. `at` is the last use, in milliseconds since the Unix epoch. */
export function changingCells(session: SessionRecord, at: number) {
  return [
    session.app,
    session.title,
    session.titleSource,
    session.status,
    session.model,
    session.modelChosen ? 1 : 0,
    session.modelApp,
    session.utilityModel,
    session.publicKey,
    session.walletId,
    session.walletProved ? 1 : 0,
    session.owner,
    session.userState === null ? null : JSON.stringify(session.userState),
    session.pinned ? 1 : 0,
    session.head,
    session.messageCount,
    session.turnCount,
    session.messageBytes,
    session.eventBytes,
    session.epoch,
    session.updatedAt,
    at,
    retentionOf(session),
  ] as const;
}

/** The cells of a session that never change. */
export function lastingCells({ key, id, spelling, incarnation, createdAt }: SessionRecord) {
  return [key, id, spelling === id ? null : spelling, incarnation, createdAt] as const;
}

/** Returns the list as JSON; `null` for an empty list. */
function listText(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list);
}

/** The cells of a turn that commands change. */
export function turnCells(turn: TurnRecord) {
  return [
    turn.agentPosition,
    turn.state,
    turn.attempts,
    turn.steps,
    turn.ranMs,
    turn.model,
    turn.startedAt,
    turn.attemptAt,
    turn.epoch,
    turn.runnable ? 1 : 0,
    turn.behindWaiting ? 1 : 0,
    JSON.stringify(turn.usage),
    turn.failure,
    turn.endedAt,
    Object.keys(turn.options).length === 0 ? null : JSON.stringify(turn.options),
  ] as const;
}

/** The cells of a message that commands change. */
export function messageCells({ status, toolCalls, toolResults, content, extras }: MessageRecord) {
  const extrasText = extras === undefined ? null : JSON.stringify(extras);
  return [status, listText(toolCalls), listText(toolResults), content, extrasText] as const;
}

/** The cells of an action that commands change. */
export function actionCells({ status, result, claim, resolvedAt }: ActionRecord) {
  const claimed = [claim?.token ?? null, claim?.expiresAt ?? null] as const;
  return [status, JSON.stringify(result), ...claimed, resolvedAt] as const;
}

/** The cells of a new message. */
export function messageRow(key: number, message: MessageRecord) {
  const { position, id, turn, role, createdAt } = message;
  return [...messageCells(message), key, position, id, turn, role, createdAt];
}

/** The cells of a new turn. */
export function turnRow(key: number, turn: TurnRecord) {
  return [...turnCells(turn), key, turn.number, turn.userPosition, turn.clientId, turn.enqueuedAt];
}

/** The cells of a new action. */
export function actionRow(key: number, action: ActionRecord) {
  const { number, id, turn, callId, tool, asked, createdAt, expiresAt } = action;
  const request = [id, turn, callId, tool, JSON.stringify(asked)];
  return [...actionCells(action), key, number, ...request, createdAt, expiresAt];
}
