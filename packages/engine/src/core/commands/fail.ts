import type { TurnFailure } from "../turn.ts";
import { defineForTurn } from "./command.ts";
import { failTurn, advanceQueue } from "./turns.ts";

export interface FailInput {
  /** Content of the turn's message. */
  readonly text: string;
  readonly failure: TurnFailure;
  /** True to store a summary job. */
  readonly summarize?: boolean;
}

export const fail = defineForTurn(
  (draft, { turn, openTurns }, { text, failure, summarize = false }: FailInput) => {
    failTurn(draft, turn, text, failure);
    advanceQueue(draft, turn.turn, openTurns);
    draft.wantsSummary = summarize;
    return "ok" as const;
  },
);
