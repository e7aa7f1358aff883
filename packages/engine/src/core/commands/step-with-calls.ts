import type { NewAction } from "../action.ts";
import type { StepCall, ToolCallRecord } from "../message.ts";
import { MAX_CALLS, type NewStep } from "../turn.ts";
import { askPerson } from "./asking.ts";
import { defineForTurn } from "./command.ts";
import { outcomeIn } from "./steering.ts";
import { addStep, withStep } from "./finished-step.ts";
import {
  emitToolComplete,
  emitToolUpdate,
  endCall,
  noticeMissingSecret,
  type EndedCall,
} from "./call-results.ts";

export interface StepWithCallsInput {
  readonly step: NewStep;
  readonly calls: readonly StepCall[];
  /** Actions, each for one of `calls`. */
  readonly actions: readonly NewAction[];
}

export const TOO_MANY_CALLS = `This call was not made: one step may make ${MAX_CALLS} calls at most. Make the others in the next step.`;

/**
 * Stores a model step with its calls before any of them runs. This is the intent of all calls except
 * `allowed` ones, which start later (`startCalls`), and those that wait for a person. Refused calls and those
 * beyond `MAX_CALLS` get their result with the step and never run. Does nothing if the step is already
 * stored, because the caller repeats a write whose outcome is unknown.
 */
export const stepWithCalls = defineForTurn((draft, { turn: open, openTurns }, input: StepWithCallsInput) => {
  const { step, calls, actions } = input;
  if (step.number <= open.turn.steps) return outcomeIn(openTurns);
  const waiting = new Set(actions.map(({ callId }) => callId));
  const message = withStep(open.agentMessage, step);
  const toolCalls: ToolCallRecord[] = [];
  const refused: EndedCall[] = [];
  for (const [index, { refusal, ...made }] of calls.entries()) {
    const call = { ...made, text_offset: message.content.length };
    const outcome = index < MAX_CALLS ? refusal : { output: TOO_MANY_CALLS, isError: true };
    const ended = outcome === undefined ? null : endCall(call, { ...outcome, durationMs: 0 });
    if (ended !== null) refused.push(ended);
    toolCalls.push(ended?.call ?? (waiting.has(call.id) ? { ...call, phase: "asked" } : call));
  }
  const kept = toolCalls.filter(({ status }) => status === "running");
  draft.changeMessage(
    open.agentMessage,
    {
      ...message,
      toolCalls: [...open.agentMessage.toolCalls, ...toolCalls],
      toolResults: [...open.agentMessage.toolResults, ...refused.map(({ result }) => result)],
    },
    "message_updated",
  );
  for (const call of kept) emitToolUpdate(draft, call, null);
  for (const ended of refused) emitToolComplete(draft, ended);
  for (const { refusal } of calls) noticeMissingSecret(draft, refusal);
  askPerson(draft, open.turn.number, kept, actions);
  draft.changeTurn(addStep(draft, open.turn, step));
  draft.obsoleteCheckpoints.add(open.turn.number);
  return outcomeIn(openTurns);
});
