// A thread that commits everything that has come since its last commit, with the settings that Colloquy uses: the least that a
// durable answer can cost.

import { join } from "node:path";
import { Worker } from "node:worker_threads";

/** What goes to the thread in one message: everything of one turn of the event loop. */
export type InsertBatch = readonly { readonly id: number; readonly session: string; readonly text: string }[];

export interface GroupCommit {
  /** Inserts a row and calls `onDisk` when it is there. */
  insert(session: string, text: string, onDisk: () => void): void;
  close(): Promise<unknown>;
}

/** Opens a database of one table in the directory. */
export function openGroupCommit(directory: string): GroupCommit {
  const worker = new Worker(new URL("./insert-worker.ts", import.meta.url), {
    workerData: join(directory, "control.db"),
  });
  const waiting = new Map<number, () => void>();
  let batch: InsertBatch[number][] = [];
  let last = 0;
  const flush = () => {
    worker.postMessage(batch satisfies InsertBatch);
    batch = [];
  };
  worker.on("message", (ids: readonly number[]) => {
    for (const id of ids) {
      const onDisk = waiting.get(id);
      waiting.delete(id);
      onDisk?.();
    }
  });
  return {
    insert: (session, text, onDisk) => {
      last += 1;
      waiting.set(last, onDisk);
      if (batch.length === 0) setImmediate(flush);
      batch.push({ id: last, session, text });
    },
    close: () => worker.terminate(),
  };
}
