// Splits a turn's answer into parts, one per response, and a part into items. An answer is one message
// (docs/contract.md, section 2). A part ends with the step of the first call that waits for a client or a person;
// the next part starts when that call has been answered.

import type { Action, Message, PendingAction, ToolCall, ToolResult } from "@colloquy/protocol";
import type { ProtocolTurn } from "@colloquy/server/protocol";

type AnyAction = Action | PendingAction;

/** A range of an answer's calls, with the texts between and after them. */
export interface PartRange {
  /** Index of the first call. */
  readonly from: number;
  /** Index after the last call; `null` if the part is the last one of the answer so far. */
  readonly to: number | null;
}

/** The current state of an answer. */
export interface AnswerState {
  /** `null` before the answer starts. */
  readonly answer: Message | null;
  /** Actions by call id. */
  readonly actions: ReadonlyMap<string, AnyAction>;
  /** True if the part is complete. */
  readonly isOver: boolean;
}

export type Item =
  /** Text of the answer that starts at the UTF-16 offset `start`. It may grow until `isDone`. */
  | {
      readonly kind: "text";
      readonly start: number;
      readonly text: string;
      readonly isDone: boolean;
      readonly isLast: boolean;
    }
  /** A call that the client must answer. */
  | { readonly kind: "call"; readonly index: number; readonly call: ToolCall; readonly action: AnyAction }
  /** A call that needs a person's approval. */
  | { readonly kind: "approval"; readonly call: ToolCall; readonly action: AnyAction }
  /** A call that the service has run, or will not run. */
  | {
      readonly kind: "done-call";
      readonly index: number;
      readonly call: ToolCall;
      readonly result: ToolResult | null;
    };

/**
 * Returns the items of a part in order. Stops at the first incomplete item, unless it is a text, so that repeated
 * reads of a growing answer return the same items in the same order.
 */
export function itemsOf({ answer, actions, isOver }: AnswerState, { from, to }: PartRange): Item[] {
  if (answer === null) return [];
  const { content, tool_calls: calls = [], tool_results: results = [] } = answer;
  const items: Item[] = [];
  const isPartOver = isOver || to !== null;
  /** Adds a call that the service runs. Returns false while it is running. */
  const addDone = (call: ToolCall, index: number): boolean => {
    const result = results.find(({ call_id }) => call_id === call.id) ?? null;
    if (result === null && call.status !== "interrupted" && !isPartOver) return false;
    items.push({ kind: "done-call", index, call, result });
    return true;
  };
  for (const [index, call] of calls.entries())
    if (index < from && isApprovedBefore(calls, actions, from, call) && !addDone(call, index)) return items;
  let at = from === 0 ? 0 : (calls[from - 1]?.text_offset ?? 0);
  const addText = (until: number, isDone: boolean, isLast: boolean): void => {
    // The service separates the texts of steps with an empty line.
    if (at > 0) while (at < until && content[at] === "\n") at += 1;
    if (at >= until) return;
    items.push({ kind: "text", start: at, text: content.slice(at, until), isDone, isLast });
    at = until;
  };
  const end = to ?? calls.length;
  for (const [index, call] of calls.entries()) {
    if (index < from || index >= end) continue;
    addText(call.text_offset ?? at, true, false);
    const action = actions.get(call.id);
    if (action?.kind === "approval") items.push({ kind: "approval", call, action });
    else if (action !== undefined) items.push({ kind: "call", index, call, action });
    else if (!addDone(call, index)) return items;
  }
  const last = to === null ? content.length : (calls[to - 1]?.text_offset ?? content.length);
  addText(last, isPartOver, to === null && isOver);
  return items;
}

/** Returns true if the call's approval request ended the previous part. */
function isApprovedBefore(
  calls: readonly ToolCall[],
  actions: ReadonlyMap<string, AnyAction>,
  from: number,
  { id }: ToolCall,
): boolean {
  const action = actions.get(id);
  if (action?.kind !== "approval") return false;
  const times = calls.slice(0, from).map((call) => actions.get(call.id)?.created_at ?? "");
  return times.every((time) => time <= action.created_at);
}

/** Returns the actions of a turn by call id. */
export function actionsOf(turn: Pick<ProtocolTurn, "actions">): Map<string, AnyAction> {
  return new Map(turn.actions.map((action) => [action.call_id, action]));
}

/** Returns the part boundaries that calls cause, as call indexes in ascending order. */
function boundsOf({ answer, actions, stepOfCall }: ProtocolTurn): number[] {
  const calls = answer?.tool_calls ?? [];
  const withAction = new Set(actions.map(({ call_id }) => call_id));
  const ends = calls.flatMap(({ id }) => (withAction.has(id) ? [stepOfCall[id] ?? 0] : []));
  return [...new Set(ends)].map((step) => calls.findLastIndex(({ id }) => (stepOfCall[id] ?? 0) <= step) + 1);
}

/** Returns the part that starts at call index `from`; `null` if no part starts there. */
export function partOf(turn: ProtocolTurn, from: number): PartRange | null {
  const bounds = boundsOf(turn);
  if (from > 0 && !bounds.includes(from)) return null;
  return { from, to: bounds.find((bound) => bound > from) ?? null };
}

/** Returns the first call index of the part after the one with this call; `null` if there is none. */
export function partAfter(turn: ProtocolTurn, callId: string): number | null {
  const index = (turn.answer?.tool_calls ?? []).findIndex(({ id }) => id === callId);
  return boundsOf(turn).find((bound) => index >= 0 && bound > index) ?? null;
}

/** Returns the first call index of the previous part. */
export function partBefore(turn: ProtocolTurn, from: number): number {
  return boundsOf(turn).findLast((bound) => bound < from) ?? 0;
}
