// Progress of a move. It is stored in the target and updated in the transaction that writes the rows, so that both survive
// a crash or neither does.

import { z } from "zod";
import type { TableRow, TableStore, TableWriter } from "../core/ports/driven/table-store.ts";

const cell = z.union([z.string(), z.number(), z.null()]);
const tableProgress = z.object({
  /** Key of the last written row; `null` if there is none. */
  after: z.array(cell).nullable(),
  rows: z.number(),
  isDone: z.boolean(),
});
const moveProgress = z.object({
  /** The place of the source. */
  from: z.string(),
  tables: z.record(z.string(), tableProgress),
});

export type MoveProgress = z.infer<typeof moveProgress>;

export const NO_ROWS: { after: TableRow | null; rows: number; isDone: boolean } = {
  after: null,
  rows: 0,
  isDone: false,
};

export interface KnownMove {
  readonly progress: MoveProgress;
  readonly isFinished: boolean;
}

/** Returns the recorded move into this database; `null` if there is none. */
export async function readProgress(target: TableStore): Promise<KnownMove | null> {
  const note = await target.read((reader) => reader.moveNote());
  if (note === null) return null;
  const parsed = moveProgress.safeParse(JSON.parse(note.text));
  if (!parsed.success) {
    throw new Error(
      `${target.place} is the target of a move by another version of Colloquy. Finish it with that one.`,
    );
  }
  return { progress: parsed.data, isFinished: note.isFinished };
}

/** Runs in the transaction of `writer`. */
export function writeProgress(
  writer: TableWriter,
  progress: MoveProgress,
  isFinished: boolean,
): Promise<void> {
  return writer.noteMove({ isFinished, text: JSON.stringify(progress) });
}
