// The thread that owns the database: it takes all waiting calls, commits them together, and returns their
// outcomes.

import type { DatabaseSync } from "node:sqlite";
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { Call, Failure, FromWorker, Outcome, ToWorker, WorkerOptions } from "./calls.ts";
import { createDirectory, inDirectory } from "./data-directory.ts";
import { type DataFiles, watchFiles } from "./data-files.ts";
import { openDatabase, prepareIn } from "./database.ts";
import { failureOf } from "./failures.ts";
import { prepareCommit } from "./group-commit.ts";
import { lockDirectory } from "./lock.ts";
import { prepareMethods } from "./methods.ts";
import { prepareTransaction } from "./transaction.ts";
import { prepareWal, type Wal } from "./wal.ts";

const ALMOST_FULL = "The disk has no room for the largest write";

if (parentPort === null) throw new Error("worker.ts is started by open.ts, as a worker thread");
start(parentPort, workerData as WorkerOptions);

function start(port: MessagePort, options: WorkerOptions): void {
  try {
    serve(port, options);
    post(port, { kind: "ready" });
  } catch (error) {
    post(port, { kind: "refused", message: error instanceof Error ? error.message : String(error) });
    port.close();
  }
}

function serve(port: MessagePort, options: WorkerOptions): void {
  const { directory, role, processId, openedAt, isAlone } = options;
  const { database, lock } = inDirectory(directory, () => {
    if (directory !== null) createDirectory(directory);
    const lock = directory === null || role === "administration" ? null : lockDirectory(directory, processId);
    return { database: openOrRelease(directory, openedAt, lock), lock };
  });
  const prepare = prepareIn(database);
  const transaction = prepareTransaction(prepare, isAlone);
  const files = watchFiles(database);
  const methods = prepareMethods(prepare, transaction);
  const runCalls = prepareCommit(database, { transaction, methods, files });
  const fail = (error: unknown): void => {
    post(port, { kind: "fatal", cause: error instanceof Error ? error.message : String(error) });
    port.close();
  };
  const wal = prepareWal(database, fail);

  port.on("message", (first: ToWorker) => {
    const { calls, close } = drain(port, first);
    try {
      if (calls.length > 0) {
        const outcomes = completed(calls, runCalls(calls), { wal, files });
        post(port, { kind: "outcomes", outcomes });
        wal.after(calls, outcomes);
      }
      if (close) wal.finish();
    } catch (error) {
      fail(error);
      return;
    }
    if (!close) return;
    database.close();
    lock?.release();
    post(port, { kind: "closed" });
    port.close();
  });
}

/**
 * Returns the outcomes with what is done or known only after the commit: the answer of a purge, that a probe
 * found a full disk, and that a write failed on a read-only file system, which SQLite does not distinguish
 * from a full one.
 */
function completed(
  calls: readonly Call[],
  outcomes: readonly Outcome[],
  { wal, files }: { readonly wal: Wal; readonly files: DataFiles },
): readonly Outcome[] {
  const purged = calls.some(({ method }) => method === "purge") ? wal.purge() : null;
  const full = outcomes.some((outcome) => "failure" in outcome && outcome.failure.kind === "full")
    ? failureToWrite(files)
    : null;
  return outcomes.map((outcome, index): Outcome => {
    if ("failure" in outcome) {
      return full !== null && outcome.failure.kind === "full" ? { failure: full } : outcome;
    }
    const method = calls[index]?.method;
    if (method === "probe" && files.isFull()) return { failure: { kind: "full", cause: ALMOST_FULL } };
    return method === "purge" ? { value: purged } : outcome;
  });
}

/** Returns the failure of a read-only file system; `null` if it is writable. */
function failureToWrite(files: DataFiles): Failure | null {
  try {
    files.checkWritable();
    return null;
  } catch (error) {
    return failureOf(error);
  }
}

/** Opens the database. On failure, releases the directory at once and not only when the thread has ended. */
function openOrRelease(directory: string | null, at: number, lock: { release(): void } | null): DatabaseSync {
  try {
    return openDatabase(directory, at);
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** Takes all waiting messages, starting with `first`. */
function drain(
  port: MessagePort,
  first: ToWorker,
): { readonly calls: readonly Call[]; readonly close: boolean } {
  const calls: Call[] = [];
  let close = false;
  let message: ToWorker | undefined = first;
  while (message !== undefined) {
    if ("calls" in message) for (const call of message.calls) calls.push(call);
    else close = true;
    message = receiveMessageOnPort(port)?.message as ToWorker | undefined;
  }
  return { calls, close };
}

function post(port: MessagePort, message: FromWorker): void {
  port.postMessage(message);
}
