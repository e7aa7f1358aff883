// Turns that wait for a person: they store actions with a step, and continue when all are resolved.

import { actionNotice, toPendingAction, type ActionRecord, type AskedAction } from "../action.ts";
import type { ToolCallRecord } from "../message.ts";
import type { OpenTurn, TurnRecord } from "../turn.ts";
import type { WritingTurn } from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import type { ToolOutcomeInput } from "./tool-calls.ts";

/** Results of calls that were not approved. */
export const DENIED = "The user denied this call.";
export const EXPIRED = "The user did not answer in time, so this call was not made.";

/** Stores the actions of a step's calls and announces them. */
export function askPerson(
  draft: SessionDraft,
  turn: number,
  calls: readonly ToolCallRecord[],
  asked: readonly AskedAction[],
): void {
  for (const { id, callId, asked: request, validMs } of asked) {
    const tool = calls.find((call) => call.id === callId)?.name;
    if (tool === undefined)
      throw new Error(`An action asks about the call ${callId}, which its step does not make`);
    const action = draft.addAction({
      id,
      turn,
      callId,
      tool,
      asked: request,
      status: "pending",
      result: null,
      claim: null,
      createdAt: draft.at,
      expiresAt: draft.at + validMs,
      resolvedAt: null,
    });
    draft.emit({
      type: "system_notice",
      message: actionNotice(toPendingAction(action)),
      level: "info",
      code: "action_requested",
    });
  }
}

export function isDue(action: ActionRecord, at: number): boolean {
  return at >= action.expiresAt;
}

export function withMessage(open: OpenTurn): WritingTurn {
  if (open.agentMessage === null) throw new Error(`Turn ${open.turn.number} asks, but has no agent message`);
  return { ...open, agentMessage: open.agentMessage };
}

/** Returns the result that a resolved action gives its call. */
export function outcomeOf(draft: SessionDraft, action: ActionRecord): ToolOutcomeInput {
  const { callId, status, result } = action;
  const durationMs = Math.max(0, draft.at - action.createdAt);
  if (status === "approved") return { callId, output: result, isError: false, durationMs };
  return { callId, output: status === "denied" ? DENIED : EXPIRED, isError: true, durationMs };
}

/**
 * Makes a waiting turn claimable once all its actions are resolved; a turn that still runs other calls continues by itself. Returns the
 * number of turns that no longer wait for a person.
 */
export function resumeIfDecided(
  draft: SessionDraft,
  { turn, actions }: WritingTurn,
  openTurns: readonly OpenTurn[],
): number {
  if (turn.state !== "waiting" || actions.length > 0) return 0;
  draft.changeTurn({ ...turn, state: "running", runnable: true });
  return 1 + markBehindWaiting(draft, turn, openTurns, { behindWaiting: false });
}

/** Records whether the turns behind `first` wait for a person. Returns their number. */
export function markBehindWaiting(
  draft: SessionDraft,
  first: TurnRecord,
  openTurns: readonly OpenTurn[],
  place: Pick<TurnRecord, "behindWaiting">,
): number {
  const queued = openTurns.filter(({ turn }) => turn.number !== first.number);
  for (const { turn } of queued) draft.changeTurn({ ...turn, ...place });
  return queued.length;
}
