import type { NewStep } from "../turn.ts";
import { defineForTurn } from "./command.ts";
import { outcomeIn } from "./steering.ts";
import { addStep, withExtras } from "./finished-step.ts";

/**
 * Stores a model step whose text does not match the requested schema. Resets the message to the end of the
 * previous step and announces that, because subscribers have seen the text. Does nothing if the step is
 * already stored.
 */
export const rejectStep = defineForTurn(
  (draft, { turn: open, openTurns }, { step }: { readonly step: NewStep }) => {
    if (step.number <= open.turn.steps) return outcomeIn(openTurns);
    draft.changeMessage(open.agentMessage, withExtras(open.agentMessage, step), "message_updated");
    draft.changeTurn(addStep(draft, open.turn, step));
    draft.obsoleteCheckpoints.add(open.turn.number);
    return outcomeIn(openTurns);
  },
);
