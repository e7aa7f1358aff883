// What a running turn writes. Every one of these is refused when the session's epoch is no longer the turn's, and when its lease has run out.

import type { ToolResult } from "@colloquy/protocol";
import type { AskedAction } from "../action.ts";
import type { JsonValue } from "../json.ts";
import {
  hasNotBegun,
  joinStepText,
  openCalls,
  type MessageRecord,
  type StepCall,
  type ToolCallRecord,
} from "../message.ts";
import {
  addUsage,
  MAX_CALLS,
  type Lease,
  type OpenTurn,
  type StepRecord,
  type TurnFailure,
  type TurnIdentity,
} from "../turn.ts";
import type { SessionRecord } from "../session.ts";
import { askPerson } from "./asking.ts";
import type { SessionDraft } from "./draft.ts";
import { endTurn, failTurn, moveOn } from "./turns.ts";

export interface ToolOutcomeInput {
  readonly callId: string;
  readonly output: JsonValue;
  readonly isError: boolean;
  /** Milliseconds that the call took. */
  readonly durationMs: number;
  /** Slot of a secret that the call found empty. */
  readonly missingSecret?: string;
}

const ANSWER_CUT =
  "The assistant's answer was cut off, because it reached the most text that its model may write at once. Ask it to go on.";
const ANSWER_EMPTY = "The assistant's model ended its answer without any text. Send your message again.";

/** What the model reads as the result of a call beyond the limit of its step. */
export const TOO_MANY_CALLS = `This call was not made: one step may make ${MAX_CALLS} calls at most. Make the others in the next step.`;

/**
 * The open turn that may write, or `null` when it was interrupted, deleted or taken over, or when its `lease` has run out `at` this moment, on
 * the store's clock: then it is anybody's, though nobody may have it yet, and its owner must have stopped.
 */
export function turnThatWrites(
  session: Pick<SessionRecord, "key" | "epoch">,
  openTurns: readonly OpenTurn[],
  identity: TurnIdentity,
  { lease, at }: { readonly lease: Lease | null; readonly at: number },
): (OpenTurn & { readonly agentMessage: MessageRecord }) | null {
  return lease === null || lease.expiresAt <= at ? null : turnThatRuns(session, openTurns, identity);
}

/** The open turn that runs under this identity, `null` when it was interrupted, deleted or taken over. */
export function turnThatRuns(
  session: Pick<SessionRecord, "key" | "epoch">,
  openTurns: readonly OpenTurn[],
  identity: TurnIdentity,
): (OpenTurn & { readonly agentMessage: MessageRecord }) | null {
  if (session.key !== identity.sessionKey || session.epoch !== identity.epoch) return null;
  const open = openTurns.find(({ turn }) => turn.number === identity.turn && turn.state === "running");
  return open === undefined || open.agentMessage === null
    ? null
    : { ...open, agentMessage: open.agentMessage };
}

/**
 * A model step that asks for tools: the step, and its calls before any of them runs. This is the intent of a call, but of one that is
 * `allowed` and starts later (`decideStarts`). Of a call that is among `asked`, a person is asked instead. Calls with a refusal, and those
 * beyond `MAX_CALLS`, have their result with the step: they are never made, also not by whoever runs the turn again.
 * Answers `false` for a step that is there already, because its answer was lost and it was sent again: it is not to be stored twice.
 */
export function decideStepWithCalls(
  draft: SessionDraft,
  open: OpenTurn & { readonly agentMessage: MessageRecord },
  step: StepRecord,
  calls: readonly StepCall[],
  asked: readonly AskedAction[],
): boolean {
  if (step.number <= open.turn.steps) return false;
  const waiting = new Set(asked.map(({ callId }) => callId));
  const content = joinStepText(open.agentMessage.content, step.text);
  const toolCalls: ToolCallRecord[] = [];
  const refused: EndedCall[] = [];
  for (const [index, { refusal, ...made }] of calls.entries()) {
    const call = { ...made, text_offset: content.length };
    const outcome = index < MAX_CALLS ? refusal : { output: TOO_MANY_CALLS, isError: true };
    const ended = outcome === undefined ? null : endCall(call, { ...outcome, durationMs: 0 });
    if (ended !== null) refused.push(ended);
    toolCalls.push(ended?.call ?? (waiting.has(call.id) ? { ...call, phase: "asked" } : call));
  }
  const kept = toolCalls.filter(({ status }) => status === "running");
  draft.changeMessage(
    open.agentMessage,
    {
      ...open.agentMessage,
      content,
      toolCalls: [...open.agentMessage.toolCalls, ...toolCalls],
      toolResults: [...open.agentMessage.toolResults, ...refused.map(({ result }) => result)],
    },
    "message_updated",
  );
  for (const call of kept) emitToolUpdate(draft, call, null);
  for (const ended of refused) emitToolComplete(draft, ended);
  for (const { refusal } of calls) noticeMissingSecret(draft, refusal);
  askPerson(draft, open.turn.number, kept, asked);
  draft.changeTurn({ ...open.turn, steps: step.number, usage: addUsage(open.turn.usage, step.usage) });
  draft.settledTurns.add(open.turn.number);
  return true;
}

/** The last model step: it asked for no tools, and the turn is complete with it. */
export function decideLastStep(
  draft: SessionDraft,
  openTurns: readonly OpenTurn[],
  open: OpenTurn & { readonly agentMessage: MessageRecord },
  step: StepRecord,
): void {
  const content = joinStepText(open.agentMessage.content, step.text);
  const { agentMessage } = open;
  draft.changeMessage(agentMessage, { ...agentMessage, content, status: "complete" }, "message_completed");
  const usage = addUsage(open.turn.usage, step.usage);
  endTurn(draft, open, { state: "complete", steps: step.number, usage });
  if (step.finishReason === "length") draft.notify("warning", "answer_cut", ANSWER_CUT);
  else if (content.trim() === "") draft.notify("warning", "answer_empty", ANSWER_EMPTY);
  moveOn(draft, open.turn, openTurns);
}

/** The model or a limit has failed the turn. `text` is the whole text its message keeps. */
export function decideFailure(
  draft: SessionDraft,
  openTurns: readonly OpenTurn[],
  open: OpenTurn,
  text: string,
  failure: TurnFailure,
): void {
  failTurn(draft, open, text, failure);
  moveOn(draft, open.turn, openTurns);
}

/**
 * Allowed calls are about to run: their stored intent, without which an unsafe one must not. Nobody is told, because readers see a call as
 * running from its step on. Calls that ask or have a result are left as they are. Answers the message as it is then.
 */
export function decideStarts(
  draft: SessionDraft,
  { agentMessage }: { readonly agentMessage: MessageRecord },
  callIds: readonly string[],
): MessageRecord {
  const starting = new Set(
    openCalls(agentMessage).filter((call) => hasNotBegun(call) && callIds.includes(call.id)),
  );
  if (starting.size === 0) return agentMessage;
  const toolCalls = agentMessage.toolCalls.map(
    (call): ToolCallRecord => (starting.has(call) ? { ...call, phase: "started" } : call),
  );
  return draft.keepMessage({ ...agentMessage, toolCalls });
}

/**
 * A call has its result, and those of `starts` are about to run in its place (`decideStarts`). A second result of one call changes
 * nothing: each call has exactly one. Answers the message as it is then.
 */
export function decideToolResult(
  draft: SessionDraft,
  open: { readonly agentMessage: MessageRecord },
  outcome: ToolOutcomeInput,
  starts: readonly string[] = [],
): MessageRecord {
  const agentMessage = decideToolResults(draft, open, [outcome]);
  return decideStarts(draft, { agentMessage }, starts);
}

/** Several calls have their results at once: the message, which holds them all, is announced once. */
export function decideToolResults(
  draft: SessionDraft,
  open: { readonly agentMessage: MessageRecord },
  outcomes: readonly ToolOutcomeInput[],
): MessageRecord {
  const message = open.agentMessage;
  const unanswered = new Map(openCalls(message).map((call) => [call.id, call]));
  const ended = new Map<string, EndedCall>();
  for (const outcome of outcomes) {
    const call = unanswered.get(outcome.callId);
    if (call !== undefined && !ended.has(call.id)) ended.set(call.id, endCall(call, outcome));
  }
  if (ended.size === 0) return message;
  for (const end of ended.values()) emitToolComplete(draft, end);
  const changed = draft.changeMessage(
    message,
    {
      ...message,
      toolCalls: message.toolCalls.map((call) => ended.get(call.id)?.call ?? call),
      toolResults: [...message.toolResults, ...[...ended.values()].map(({ result }) => result)],
    },
    "message_updated",
  );
  for (const outcome of outcomes) if (ended.has(outcome.callId)) noticeMissingSecret(draft, outcome);
  return changed;
}

function noticeMissingSecret(
  draft: SessionDraft,
  outcome: Pick<ToolOutcomeInput, "missingSecret"> | undefined,
): void {
  if (outcome?.missingSecret === undefined) return;
  const missing = `The assistant needs the secret "${outcome.missingSecret}", which is not set. Set it and ask again.`;
  draft.notify("warning", "secret_missing", missing);
}

/** A running call reports progress. */
export function decideToolProgress(
  draft: SessionDraft,
  open: OpenTurn & { readonly agentMessage: MessageRecord },
  callId: string,
  progress: JsonValue,
): void {
  const call = open.agentMessage.toolCalls.find(({ id, status }) => id === callId && status === "running");
  if (call !== undefined) emitToolUpdate(draft, call, progress);
}

interface EndedCall {
  readonly call: ToolCallRecord;
  readonly result: ToolResult;
}

function endCall(call: ToolCallRecord, outcome: Omit<ToolOutcomeInput, "callId">): EndedCall {
  const result = {
    call_id: call.id,
    name: call.name,
    output: outcome.output,
    is_error: outcome.isError,
    duration_ms: outcome.durationMs,
  };
  return { call: { ...call, status: outcome.isError ? "failed" : "complete" }, result };
}

function emitToolComplete(draft: SessionDraft, { call, result }: EndedCall): void {
  const { call_id, name, ...shown } = result;
  const { status, arguments: input } = call;
  draft.emit({ type: "tool_complete", call_id, name, status, arguments: input, result: shown });
}

function emitToolUpdate(draft: SessionDraft, call: ToolCallRecord, progress: JsonValue | null): void {
  const { id, name, status } = call;
  draft.emit({ type: "tool_update", call_id: id, name, status, arguments: call.arguments, progress });
}
