// Turns that wait for a person: they store actions with a step, and continue when all are resolved.

import type { CallDecision } from "@colloquy/protocol";
import {
  actionNotice,
  hasExpiredClaim,
  isOver,
  isReminderDue,
  mayHaveRun,
  toPendingAction,
  type ActionRecord,
  type NewAction,
} from "../action.ts";
import { isJsonObject, type JsonValue } from "../json.ts";
import type { ToolCallRecord } from "../message.ts";
import type { OpenTurn, TurnRecord } from "../turn.ts";
import type { WritingTurn } from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import type { ToolOutcomeInput } from "./call-results.ts";

/** Results of calls that were not approved. */
export const DENIED = "The user denied this call.";
const DENIED_BY_APPROVER = "An approver denied this call.";
export const EXPIRED = "The user did not answer in time, so this call was not made.";
const NO_APPROVER = "No approver answered in time, so this call was not made.";
export const NO_CLIENT = "No client gave the result of this call in time.";
export const OUTCOME_UNKNOWN = "outcome unknown";

/** Stores the actions of a step's calls and announces them. */
export function askPerson(
  draft: SessionDraft,
  turn: number,
  calls: readonly ToolCallRecord[],
  actions: readonly NewAction[],
): void {
  for (const { id, callId, asked: request, validMs, remindMs, approvers = null } of actions) {
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
      approvers,
      remindAt: remindMs === undefined ? null : draft.at + remindMs,
      createdAt: draft.recordedAt,
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

/** Returns true if the action or its claim has expired or its reminder is due. */
export function isDue(action: ActionRecord, at: number): boolean {
  return isOver(action, at) || hasExpiredClaim(action, at) || isReminderDue(action, at);
}

export function withMessage(open: OpenTurn): WritingTurn {
  if (open.agentMessage === null) throw new Error(`Turn ${open.turn.number} asks, but has no agent message`);
  return { ...open, agentMessage: open.agentMessage };
}

/** Who decided the action, and their comment. */
export type DecidedBy = Pick<CallDecision, "by" | "name" | "comment">;

/** Returns the decision to store with the call. */
export function decisionOf(
  draft: SessionDraft,
  { asked: { kind } }: ActionRecord,
  status: CallDecision["status"],
  decided: DecidedBy,
): CallDecision {
  return { kind, status, at: new Date(draft.recordedAt).toISOString(), ...decided };
}

/** Returns the call's result when its action is resolved with this status and result. */
export function outcomeOf(
  draft: SessionDraft,
  action: ActionRecord,
  {
    status,
    result,
    ...decided
  }: DecidedBy & { readonly status: CallDecision["status"]; readonly result: JsonValue },
): ToolOutcomeInput {
  const call = {
    callId: action.callId,
    durationMs: Math.max(0, draft.at - action.createdAt),
    decision: decisionOf(draft, action, status, decided),
  };
  if (status === "denied") return { ...call, output: denialOf(decided), isError: true };
  if (status === "expired") return { ...call, output: expiryOf(action), isError: true };
  return { ...call, ...approvedOutput(action, result) };
}

function denialOf({ by, comment }: DecidedBy): string {
  const denied = by === "approver" ? DENIED_BY_APPROVER : DENIED;
  return comment === undefined ? denied : `${denied} Comment: ${comment}`;
}

function expiryOf(action: ActionRecord): string {
  if (mayHaveRun(action)) return OUTCOME_UNKNOWN;
  if (action.approvers?.owner === "may_not") return NO_APPROVER;
  return action.asked.kind === "client_tool" ? NO_CLIENT : EXPIRED;
}

/** Unwraps the output of a client tool, which may also report an error. Other results are the output itself. */
function approvedOutput(
  { asked }: ActionRecord,
  result: JsonValue,
): Pick<ToolOutcomeInput, "output" | "isError"> {
  if (asked.kind !== "client_tool" || !isJsonObject(result)) return { output: result, isError: false };
  const { output = null, error } = result;
  return error === undefined ? { output, isError: false } : { output: error, isError: true };
}

export interface Unblocking {
  /**
   * Number of turns that no longer wait for a person: a waiting turn whose last action was resolved, and
   * those queued behind it.
   */
  readonly unblocked: number;
}

/**
 * Makes a waiting turn claimable once all its actions are resolved; a turn that still runs other calls
 * becomes claimable when its run ends with `wait`. Returns `unblocked`.
 */
export function resumeIfDecided(
  draft: SessionDraft,
  { turn, actions }: WritingTurn,
  openTurns: readonly OpenTurn[],
): number {
  if (turn.state !== "waiting" || actions.length > 0) return 0;
  // A running turn without an owner is claimable; see `TurnRecord.runnable`.
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
