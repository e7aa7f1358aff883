// What a running turn writes. Every one of these is refused when the session's epoch is no longer the turn's.

import type { ToolResult } from "@colloquy/protocol";
import type { AskedAction } from "../action.ts";
import type { JsonValue } from "../json.ts";
import { joinStepText, type MessageRecord, type ToolCallRecord } from "../message.ts";
import { addUsage, type OpenTurn, type StepRecord, type TurnIdentity } from "../turn.ts";
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

/** The open turn that may write, or `null` when it was interrupted, deleted or taken over. */
export function turnThatWrites(
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
 * A model step that asks for tools: the step, and the intent of every call, before any of them runs. Of a call that is among `asked`, a
 * person is asked instead.
 */
export function decideStepWithCalls(
  draft: SessionDraft,
  open: OpenTurn & { readonly agentMessage: MessageRecord },
  step: StepRecord,
  calls: readonly ToolCallRecord[],
  asked: readonly AskedAction[],
): void {
  const waiting = new Set(asked.map(({ callId }) => callId));
  const kept = calls.map(
    (call): ToolCallRecord => (waiting.has(call.id) ? { ...call, phase: "asked" } : call),
  );
  draft.changeMessage(
    {
      ...open.agentMessage,
      content: joinStepText(open.agentMessage.content, step.text),
      toolCalls: [...open.agentMessage.toolCalls, ...kept],
    },
    "message_updated",
  );
  for (const call of kept) emitToolUpdate(draft, call, null);
  askPerson(draft, open.turn.number, kept, asked);
  draft.changeTurn({ ...open.turn, steps: step.number, usage: addUsage(open.turn.usage, step.usage) });
  draft.settledTurns.add(open.turn.number);
}

/** The last model step: it asked for no tools, and the turn is complete with it. */
export function decideLastStep(
  draft: SessionDraft,
  openTurns: readonly OpenTurn[],
  open: OpenTurn & { readonly agentMessage: MessageRecord },
  step: StepRecord,
): void {
  const content = joinStepText(open.agentMessage.content, step.text);
  draft.changeMessage({ ...open.agentMessage, content, status: "complete" }, "message_completed");
  const usage = addUsage(open.turn.usage, step.usage);
  endTurn(draft, open, { state: "complete", steps: step.number, usage });
  moveOn(draft, open.turn, openTurns);
}

/** The model or a limit has failed the turn. `text` is the whole text its message keeps. */
export function decideFailure(
  draft: SessionDraft,
  openTurns: readonly OpenTurn[],
  open: OpenTurn,
  text: string,
  failure: { readonly code: string; readonly message: string },
): void {
  failTurn(draft, open, text, failure);
  moveOn(draft, open.turn, openTurns);
}

/** A call has its result. A second result of one call changes nothing: each call has exactly one. Answers the message as it is then. */
export function decideToolResult(
  draft: SessionDraft,
  open: { readonly agentMessage: MessageRecord },
  outcome: ToolOutcomeInput,
): MessageRecord {
  const message = open.agentMessage;
  const call = message.toolCalls.find(({ id }) => id === outcome.callId);
  if (call === undefined || message.toolResults.some(({ call_id }) => call_id === outcome.callId)) {
    return message;
  }
  const status = outcome.isError ? "failed" : "complete";
  const result: ToolResult = {
    call_id: call.id,
    name: call.name,
    output: outcome.output,
    is_error: outcome.isError,
    duration_ms: outcome.durationMs,
  };
  const { call_id, name, ...shown } = result;
  draft.emit({ type: "tool_complete", call_id, name, status, arguments: call.arguments, result: shown });
  const changed = draft.changeMessage(
    {
      ...message,
      toolCalls: message.toolCalls.map((other) => (other === call ? { ...call, status } : other)),
      toolResults: [...message.toolResults, result],
    },
    "message_updated",
  );
  if (outcome.missingSecret !== undefined) {
    const missing = `The assistant needs the secret "${outcome.missingSecret}", which is not set. Set it and ask again.`;
    draft.notify("warning", "secret_missing", missing);
  }
  return changed;
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

function emitToolUpdate(draft: SessionDraft, call: ToolCallRecord, progress: JsonValue | null): void {
  const { id, name, status } = call;
  draft.emit({ type: "tool_update", call_id: id, name, status, arguments: call.arguments, progress });
}
