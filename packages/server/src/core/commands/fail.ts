import type { TurnFailure } from "../turn.ts";
import { defineForTurn } from "./command.ts";
import { failTurn, moveOn } from "./turns.ts";

export interface FailInput {
  /** The whole text that the turn's message keeps. */
  readonly text: string;
  readonly failure: TurnFailure;
}

/** Fails the turn because of its model or a limit. */
export const fail = defineForTurn((draft, { turn, openTurns }, { text, failure }: FailInput) => {
  failTurn(draft, turn, text, failure);
  moveOn(draft, turn.turn, openTurns);
  return "ok" as const;
});
