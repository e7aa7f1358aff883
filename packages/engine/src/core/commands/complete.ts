import type { NewStep } from "../turn.ts";
import { defineForTurn } from "./command.ts";
import { addStep, withStep } from "./finished-step.ts";
import { endTurn, advanceQueue } from "./turns.ts";

const ANSWER_CUT =
  "The assistant's answer was cut off, because it reached the most text that its model may write at once. Ask it to go on.";
const ANSWER_EMPTY = "The assistant's model ended its answer without any text. Send your message again.";

export interface CompleteInput {
  readonly step: NewStep;
  /** Budget of the history in bytes, to store a summary job. */
  readonly summaryBudget?: number | null;
}

/** Completes the turn with its last model step, which has no tool calls. */
export const complete = defineForTurn(
  (draft, { turn: open, openTurns }, { step, summaryBudget = null }: CompleteInput) => {
    const { agentMessage } = open;
    const answered = { ...withStep(agentMessage, step), status: "complete" } as const;
    const { content } = draft.changeMessage(agentMessage, answered, "message_completed");
    const { steps, usage } = addStep(draft, open.turn, step);
    endTurn(draft, open, { state: "complete", steps, usage });
    if (step.finishReason === "length") draft.addNotice("warning", "answer_cut", ANSWER_CUT);
    else if (content.trim() === "") draft.addNotice("warning", "answer_empty", ANSWER_EMPTY);
    advanceQueue(draft, open.turn, openTurns);
    draft.summaryBudget = summaryBudget;
    return "ok" as const;
  },
);
