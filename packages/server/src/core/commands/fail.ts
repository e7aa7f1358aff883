import type { TurnFailure } from "../turn.ts";
import { defineForTurn } from "./command.ts";
import { failTurn, advanceQueue } from "./turns.ts";

export interface FailInput {
  /** Content of the turn's message. */
  readonly text: string;
  readonly failure: TurnFailure;
}

export const fail = defineForTurn((draft, { turn, openTurns }, { text, failure }: FailInput) => {
  failTurn(draft, turn, text, failure);
  advanceQueue(draft, turn.turn, openTurns);
  return "ok" as const;
});
