import { joinStepText } from "../message.ts";
import { addUsage, type StepRecord } from "../turn.ts";
import { defineForTurn } from "./command.ts";
import { endTurn, advanceQueue } from "./turns.ts";

const ANSWER_CUT =
  "The assistant's answer was cut off, because it reached the most text that its model may write at once. Ask it to go on.";
const ANSWER_EMPTY = "The assistant's model ended its answer without any text. Send your message again.";

/** Completes the turn with its last model step, which has no tool calls. */
export const complete = defineForTurn(
  (draft, { turn: open, openTurns }, { step }: { readonly step: StepRecord }) => {
    const { agentMessage } = open;
    const content = joinStepText(agentMessage.content, step.text);
    draft.changeMessage(agentMessage, { ...agentMessage, content, status: "complete" }, "message_completed");
    const usage = addUsage(open.turn.usage, step.usage);
    endTurn(draft, open, { state: "complete", steps: step.number, usage });
    if (step.finishReason === "length") draft.addNotice("warning", "answer_cut", ANSWER_CUT);
    else if (content.trim() === "") draft.addNotice("warning", "answer_empty", ANSWER_EMPTY);
    advanceQueue(draft, open.turn, openTurns);
    draft.addedSteps.push({ turn: open.turn.number, step });
    return "ok" as const;
  },
);
