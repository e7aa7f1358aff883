import { defineForTurn } from "./command.ts";

export interface CheckpointInput {
  /** Number of characters of the current step before `text`. */
  readonly offset: number;
  readonly text: string;
}

/** Persists streamed text before its step ends. Writes only the row of the checkpoint. */
export const checkpoint = defineForTurn((draft, { turn }, { offset, text }: CheckpointInput) => {
  draft.checkpoints.push({ turn: turn.turn.number, offset, text });
  return "ok" as const;
});
