// The thread for reads that may take long, beside the thread that owns the database. Its connection cannot write.

import { join } from "node:path";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { Call, FromWorker, Outcome, ToWorker } from "./calls.ts";
import { BUSY_TIMEOUT_MS, DATABASE_FILE, prepareIn } from "./database.ts";
import { failureOf } from "./failures.ts";
import { prepareShared } from "./methods.ts";
import { DatabaseSync } from "./node-sqlite.ts";

export interface ReaderOptions {
  readonly directory: string;
}

if (parentPort === null) throw new Error("reader.ts is started by open.ts, as a worker thread");
serve(parentPort, workerData as ReaderOptions);

function serve(port: MessagePort, { directory }: ReaderOptions): void {
  const path = join(directory, DATABASE_FILE);
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  const methods = prepareShared(prepareIn(database));
  const run = ({ method, at, parameters }: Call): Outcome => {
    const found = methods.get(method);
    try {
      if (found === undefined) throw new Error(`The reader has no method ${method}`);
      // One snapshot for all statements.
      database.exec("BEGIN");
      const value = found(at, ...(parameters as never[]));
      database.exec("COMMIT");
      return { value };
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      return { failure: failureOf(error) };
    }
  };
  const post = (message: FromWorker): void => port.postMessage(message);
  port.on("message", (message: ToWorker) => {
    if ("calls" in message) {
      for (const call of message.calls) post({ kind: "outcomes", outcomes: [run(call)] });
      return;
    }
    database.close();
    post({ kind: "closed" });
    port.close();
  });
}
