import type { TurnFailure } from "../turn.ts";
import { defineForTurn } from "./command.ts";
import { failTurn, advanceQueue } from "./turns.ts";

export interface FailInput {
  /** Content of the turn's message. */
  readonly text: string;
  readonly failure: TurnFailure;
  /** Budget of the history in bytes, to store a summary job. */
  readonly summaryBudget?: number | null;
}

export const fail = defineForTurn(
  (draft, { turn, openTurns }, { text, failure, summaryBudget = null }: FailInput) => {
    failTurn(draft, turn, text, failure);
    advanceQueue(draft, turn.turn, openTurns);
    draft.summaryBudget = summaryBudget;
    return "ok" as const;
  },
);
