// How far a move has come. It is kept in the target, and changes in the transaction that writes the rows it speaks of: whatever kills the
// process, both are there or neither.

import { z } from "zod";
import type { TableRow, TableStore, TableWriter } from "../core/ports/table-store.ts";

const cell = z.union([z.string(), z.number(), z.null()]);
const tableProgress = z.object({
  /** Key of the last row that was written, `null` for none. */
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

/** The move into this database that is known to it, `null` for none. */
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

/** In the transaction of `writer`. */
export function writeProgress(
  writer: TableWriter,
  progress: MoveProgress,
  isFinished: boolean,
): Promise<void> {
  return writer.noteMove({ isFinished, text: JSON.stringify(progress) });
}
