// What becomes of an action that waits for a person: it is decided exactly once, by a person or by time.

import { isActionResult } from "@colloquy/protocol/action-results";
import type { ActionKind, ActionRecord } from "../action.ts";
import { sameJson, type JsonValue } from "../json.ts";
import type { MessageRecord, ToolCallRecord } from "../message.ts";
import { countsAs } from "../session.ts";
import type { OpenTurn } from "../turn.ts";
import { resumeTurn } from "./asking.ts";
import type { SessionDraft } from "./draft.ts";
import { dispositionOf, type Disposition } from "./disposition.ts";
import { decideToolResults, type ToolOutcomeInput } from "./turn-progress.ts";

/** What a person says. */
export interface ActionAnswer {
  readonly decision: "approve" | "deny";
  /** What comes along, `null` for nothing; its shape belongs to the kind of the action. */
  readonly result: JsonValue;
}

/** `arrived`: turns that wait for the service from now on, which is the one that asked, if it may go on, with those behind it. */
export type ActionOutcome =
  /** It stands as it was answered, now or by the same answer before. */
  | { readonly kind: "decided"; readonly action: ActionRecord; readonly arrived: number }
  /** Too late; where nobody had noticed yet, this transaction has. */
  | { readonly kind: "expired"; readonly arrived: number }
  | { readonly kind: "unknown" }
  /** `expected`: what the result has to be. */
  | { readonly kind: "invalid"; readonly expected: string }
  | { readonly kind: "decided_otherwise" }
  | { readonly kind: "cancelled" }
  | { readonly kind: "other_app" };

/** What the model reads as the result of a call that was not allowed. */
export const DENIED = "The user denied this call.";
export const EXPIRED = "The user did not answer in time, so this call was not made.";

const EXPECTED: Readonly<Record<ActionKind, string>> = {
  approval: "absent: the approval is for the call as it was shown",
  wallet_transaction: '{"transaction_hash": "0x…"} with 64 hexadecimal digits',
  wallet_signature: '{"signature": "0x…"} with 1 to 8,192 bytes in hexadecimal',
  question: '{"answer": "…"} with 1 to 4,096 characters',
};

/**
 * A person decides; `action` is `null` when the session has none of that id. Whether it leaves a trace: `actionDisposition`. `apps` as `countsAs` has
 * them.
 */
export function decideAction(
  draft: SessionDraft,
  openTurns: readonly OpenTurn[],
  action: ActionRecord | null,
  answer: ActionAnswer,
  apps?: readonly string[],
): ActionOutcome {
  if (!countsAs(draft.session, apps)) return { kind: "other_app" };
  if (action === null) return { kind: "unknown" };
  if (!isExpectedResult(action.asked.kind, answer))
    return { kind: "invalid", expected: expectedOf(action, answer) };
  if (action.status === "expired") return { kind: "expired", arrived: 0 };
  if (action.status === "cancelled") return { kind: "cancelled" };
  const status = answer.decision === "approve" ? "approved" : "denied";
  if (action.status !== "pending") {
    const isSame = action.status === status && sameJson(action.result, answer.result);
    return isSame ? { kind: "decided", action, arrived: 0 } : { kind: "decided_otherwise" };
  }
  if (isDue(action, draft.at)) return { kind: "expired", arrived: decideExpiry(draft, openTurns) };
  const turn = turnOf(openTurns, action);
  const resolved = draft.resolveAction(action, status, answer.result);
  const arrived = goOn(draft, settleCall(draft, turn, resolved), openTurns);
  return { kind: "decided", action: resolved, arrived };
}

export function actionDisposition({ kind }: ActionOutcome): Disposition {
  return kind === "decided" || kind === "expired" ? "commit" : dispositionOf(kind);
}

/** Everything of the session that is due counts as denied. Answers how many turns wait for the service because of it. */
export function decideExpiry(draft: SessionDraft, openTurns: readonly OpenTurn[]): number {
  let arrived = 0;
  for (const open of openTurns) {
    const due = open.actions.filter((action) => isDue(action, draft.at));
    if (due.length === 0) continue;
    const turn = withMessage(open);
    const outcomes = due.map((action) => outcomeOf(draft, draft.resolveAction(action, "expired", null)));
    const agentMessage = decideToolResults(draft, turn, outcomes);
    const actions = open.actions.filter((action) => !isDue(action, draft.at));
    arrived += goOn(draft, { ...turn, agentMessage, actions }, openTurns);
  }
  return arrived;
}

type AskingTurn = OpenTurn & { readonly agentMessage: MessageRecord };

function isDue(action: ActionRecord, at: number): boolean {
  return at >= action.expiresAt;
}

function isExpectedResult(kind: ActionKind, { decision, result }: ActionAnswer): boolean {
  return decision === "deny" ? result === null : isActionResult(kind, result);
}

function expectedOf({ asked }: ActionRecord, { decision }: ActionAnswer): string {
  return decision === "deny" ? "absent: a denial carries nothing" : EXPECTED[asked.kind];
}

/** What a resolved action means for its call: it may start, or has its result. */
function settleCall(draft: SessionDraft, turn: AskingTurn, action: ActionRecord): AskingTurn {
  const actions = turn.actions.filter(({ id }) => id !== action.id);
  const agentMessage =
    action.asked.kind === "approval" && action.status === "approved"
      ? allowCall(draft, turn.agentMessage, action.callId)
      : decideToolResults(draft, turn, [outcomeOf(draft, action)]);
  return { ...turn, agentMessage, actions };
}

function outcomeOf(draft: SessionDraft, action: ActionRecord): ToolOutcomeInput {
  const durationMs = Math.max(0, draft.at - action.createdAt);
  return { callId: action.callId, ...resultOf(action), durationMs };
}

function resultOf({ status, result }: ActionRecord): {
  readonly output: JsonValue;
  readonly isError: boolean;
} {
  if (status === "approved") return { output: result, isError: false };
  return { output: status === "denied" ? DENIED : EXPIRED, isError: true };
}

function allowCall(draft: SessionDraft, message: MessageRecord, callId: string): MessageRecord {
  const toolCalls = message.toolCalls.map(
    (call): ToolCallRecord => (call.id === callId ? { ...call, phase: "approved" } : call),
  );
  return draft.changeMessage(message, { ...message, toolCalls }, "message_updated");
}

/** A turn that waits for nobody any more may be claimed. One that still runs other calls sees to that itself when it is done with them. */
function goOn(draft: SessionDraft, { turn, actions }: AskingTurn, openTurns: readonly OpenTurn[]): number {
  if (turn.state !== "waiting" || actions.length > 0) return 0;
  return resumeTurn(draft, turn, openTurns);
}

function turnOf(openTurns: readonly OpenTurn[], action: ActionRecord): AskingTurn {
  const open = openTurns.find(({ turn }) => turn.number === action.turn);
  if (open === undefined)
    throw new Error(`The action ${action.id} is pending, but its turn ${action.turn} is not open`);
  return withMessage(open);
}

function withMessage(open: OpenTurn): AskingTurn {
  if (open.agentMessage === null) throw new Error(`Turn ${open.turn.number} asks, but has no agent message`);
  return { ...open, agentMessage: open.agentMessage };
}
