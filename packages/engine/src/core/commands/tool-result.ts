import { defineForTurn } from "./command.ts";
import { outcomeIn } from "./steering.ts";
import { markStarted } from "./start-calls.ts";
import { recordResults, type ToolOutcomeInput } from "./call-results.ts";

export interface ToolResultInput {
  readonly outcome: ToolOutcomeInput;
  /** Calls that start in the freed slot. */
  readonly starts: readonly string[];
}

/** Stores the result of a call. */
export const toolResult = defineForTurn(
  (draft, { turn, openTurns }, { outcome, starts }: ToolResultInput) => {
    const agentMessage = recordResults(draft, turn, [outcome]);
    markStarted(draft, { agentMessage }, starts);
    return outcomeIn(openTurns);
  },
);
