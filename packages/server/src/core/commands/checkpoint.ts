import { defineForTurn } from "./command.ts";

export interface CheckpointInput {
  /** Characters of the current step's text before `text`. */
  readonly offset: number;
  readonly text: string;
}

/** Persists streamed text before its step ends. Writes no row but its own. */
export const checkpoint = defineForTurn((draft, { turn }, { offset, text }: CheckpointInput) => {
  draft.checkpoints.push({ turn: turn.turn.number, offset, text });
  return "ok" as const;
});
