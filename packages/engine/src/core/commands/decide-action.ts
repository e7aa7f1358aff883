import { isActionResult } from "@colloquy/protocol/action-results";
import type { Actor } from "../audit.ts";
import { type ActionKind, type ActionRecord, isOver, liveClaim, namedFiles } from "../action.ts";
import { type FileRecord, usableFiles } from "../file.ts";
import { type JsonValue, sameJson } from "../json.ts";
import { type MessageRecord, OutputBudget, type ToolCallRecord } from "../message.ts";
import type { OpenTurn } from "../turn.ts";
import {
  type DecidedBy,
  decisionOf,
  outcomeOf,
  resumeIfDecided,
  type Unblocking,
  withMessage,
} from "./asking.ts";
import { define, dispositionOf, type WritingTurn } from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import { expireDue } from "./expire-actions.ts";
import { recordResults } from "./call-results.ts";

/** A person's decision. */
export interface ActionAnswer {
  readonly decision: "approve" | "deny";
  /** Result of the decision, `null` for none; its shape depends on the kind of action. */
  readonly result: JsonValue;
  /** Token of the claim under which the call ran; absent or `null` for none. */
  readonly claim?: string | null;
  /** True to accept the result of a client tool without a claim, for protocols that have none. */
  readonly needsNoClaim?: boolean;
  /** Comment of the person who decides; absent or `null` for none. */
  readonly comment?: string | null;
}

/** A user who decides actions of sessions without access to them. */
export interface Approver {
  /** Pseudonym, as in `SessionUser`. */
  readonly owner: string;
  /** Display name; `null` if the token has none. */
  readonly name: string | null;
  /** Approver rules that the token currently satisfies (`approverRule`). */
  readonly rules: readonly string[];
}

/** Who decides. */
export type Decider = "user" | "operator" | Approver;

export interface DecideActionInput extends ActionAnswer {
  readonly action: string;
  /** Actor for the audit trail; absent for a decision that is not recorded there. */
  readonly by?: Actor | null;
  /** Defaults to `user`. */
  readonly decider?: Decider;
}

export type ActionOutcome =
  /** The action was resolved by this answer, or earlier by an equal one. */
  | ({ readonly kind: "decided"; readonly action: ActionRecord } & Unblocking)
  /** The action has expired. */
  | ({ readonly kind: "expired" } & Unblocking)
  | { readonly kind: "unknown" }
  /** `expected` describes a valid result. */
  | { readonly kind: "invalid"; readonly expected: string }
  | { readonly kind: "decided_otherwise" }
  /** A client has claimed the action, and the decision is not under its claim. */
  | { readonly kind: "claimed_otherwise" }
  /** The result of a client tool needs a claim. */
  | { readonly kind: "not_claimed" }
  /** The result names a file that the session does not have, or that is of another App. */
  | { readonly kind: "attachment_not_found" | "attachment_of_other_app" }
  | { readonly kind: "cancelled" }
  /** Only approvers may decide the action. */
  | { readonly kind: "approver_required" }
  /** The approver sent the message that caused the action, and may not decide it. */
  | { readonly kind: "own_request" };

const EXPECTED: Readonly<Record<ActionKind, string>> = {
  approval: "absent: the approval is for the call as it was shown",
  wallet_transaction: '{"transaction_hash": "0x…"} with 64 hexadecimal digits',
  wallet_signature: '{"signature": "0x…"} with 1 to 8,192 bytes in hexadecimal',
  question: '{"answer": "…"} with 1 to 4,096 characters',
  client_tool:
    '{"output": …} with any JSON, optionally with "attachments" (at most 10 distinct file ids), or {"error": "…"} with a sentence about the problem',
};

export const decideAction = define({
  target: "session",
  needs: ({ action, result }: DecideActionInput) => ({ openTurns: true, action, files: namedFiles(result) }),
  decide: (draft, facts, answer): ActionOutcome => {
    const action = facts.action();
    if (action === null) return { kind: "unknown" };
    const openTurns = facts.openTurns();
    const refused = refusalOf(action, answer.decider ?? "user", requestersOf(draft, action, openTurns));
    if (refused !== null) return { kind: refused };
    if (!isExpectedResult(action.asked.kind, answer))
      return { kind: "invalid", expected: expectedOf(action, answer) };
    if (action.status === "expired") return { kind: "expired", unblocked: 0 };
    if (action.status === "cancelled") return { kind: "cancelled" };
    const status = answer.decision === "approve" ? "approved" : "denied";
    if (action.status !== "pending") {
      const isSame = action.status === status && sameJson(action.result, answer.result);
      return isSame ? { kind: "decided", action, unblocked: 0 } : { kind: "decided_otherwise" };
    }
    if (isOver(action, draft.at)) return { kind: "expired", unblocked: expireDue(draft, openTurns) };
    const live = liveClaim(action, draft.at);
    if (live !== null && answer.claim !== live.token) return { kind: "claimed_otherwise" };
    const needsClaim = action.asked.kind === "client_tool" && status === "approved";
    if (live === null && needsClaim && answer.needsNoClaim !== true) return { kind: "not_claimed" };
    const files = usableFiles(facts.files(), namedFiles(answer.result), {
      app: draft.session.app,
      at: draft.at,
    });
    if (typeof files === "string") return { kind: files };
    const turn = turnOf(openTurns, action);
    const resolved = draft.resolveAction(action, status, answer.result);
    const { id, tool, asked } = action;
    draft.audit("action_decided", answer.by, {
      action: id,
      kind: asked.kind,
      tool,
      decision: answer.decision,
      ...(typeof answer.decider === "object" && { as: "approver" }),
    });
    const unblocked = resumeIfDecided(draft, applyDecision(draft, turn, action, answer, files), openTurns);
    return { kind: "decided", action: resolved, unblocked };
  },
  disposition: ({ kind }) => (kind === "decided" || kind === "expired" ? "commit" : dispositionOf(kind)),
});

/** Returns the reason to reject the decision; `null` if it is allowed. */
function refusalOf(
  { approvers }: ActionRecord,
  decider: Decider,
  requesters: ReadonlySet<string | null>,
): "unknown" | "approver_required" | "own_request" | null {
  if (decider === "operator") return null;
  const isBarred = approvers?.owner === "may_not";
  if (decider === "user") return isBarred ? "approver_required" : null;
  if (approvers === null || !decider.rules.includes(approvers.rule)) return "unknown";
  return isBarred && requesters.has(decider.owner) ? "own_request" : null;
}

/** Returns the pseudonyms of the session's owner and of the sender of the turn's message. */
function requestersOf(
  { session }: SessionDraft,
  action: ActionRecord,
  openTurns: readonly OpenTurn[],
): ReadonlySet<string | null> {
  const turn = openTurns.find((open) => open.turn.number === action.turn)?.turn;
  return new Set([session.owner, turn?.clientId ?? null]);
}

function isExpectedResult(kind: ActionKind, { decision, result }: ActionAnswer): boolean {
  return decision === "deny" ? result === null : isActionResult(kind, result);
}

function expectedOf({ asked }: ActionRecord, { decision }: ActionAnswer): string {
  return decision === "deny" ? "absent: a denial carries nothing" : EXPECTED[asked.kind];
}

/** Applies the decision on an action to its call: the call may start now, or gets its result. */
function applyDecision(
  draft: SessionDraft,
  turn: WritingTurn,
  action: ActionRecord,
  { decision, result, comment = null, decider = "user" }: DecideActionInput,
  usedFiles: readonly FileRecord[],
): WritingTurn {
  const actions = turn.actions.filter(({ id }) => id !== action.id);
  const isApprover = typeof decider === "object";
  const decided: DecidedBy = {
    by: isApprover ? "approver" : decider,
    ...(isApprover && decider.name !== null && { name: decider.name }),
    ...(comment !== null && { comment }),
  };
  if (action.asked.kind === "approval" && decision === "approve")
    return { ...turn, agentMessage: approveCall(draft, turn.agentMessage, action, decided), actions };
  const status = decision === "approve" ? "approved" : "denied";
  const outcome = outcomeOf(draft, action, { status, ...decided, result });
  const output = new OutputBudget(turn.agentMessage).fit(outcome.output);
  return { ...turn, agentMessage: recordResults(draft, turn, [{ ...outcome, output, usedFiles }]), actions };
}

function approveCall(
  draft: SessionDraft,
  message: MessageRecord,
  action: ActionRecord,
  decided: DecidedBy,
): MessageRecord {
  const decision = decisionOf(draft, action, "approved", decided);
  const toolCalls = message.toolCalls.map(
    (call): ToolCallRecord => (call.id === action.callId ? { ...call, phase: "approved", decision } : call),
  );
  return draft.changeMessage(message, { ...message, toolCalls }, "message_updated");
}

function turnOf(openTurns: readonly OpenTurn[], action: ActionRecord): WritingTurn {
  const open = openTurns.find(({ turn }) => turn.number === action.turn);
  if (open === undefined)
    throw new Error(`The action ${action.id} is pending, but its turn ${action.turn} is not open`);
  return withMessage(open);
}
