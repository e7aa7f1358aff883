// A thread with group commit and Colloquy's settings: the minimum cost of a durable answer.

import { join } from "node:path";
import { Worker } from "node:worker_threads";

/** One message to the thread: all inserts of one event loop iteration. */
export type InsertBatch = readonly { readonly id: number; readonly session: string; readonly text: string }[];

export interface GroupCommit {
  /** Inserts a row and calls `onDisk` once it is durable. */
  insert(session: string, text: string, onDisk: () => void): void;
  close(): Promise<unknown>;
}

/** Opens a database with one table in the directory. */
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
