import { DatabaseSync } from "node:sqlite";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { InsertBatch } from "./group-commit.ts";

const port = parentPort;
if (port === null) throw new Error("This runs in a worker thread");

const database = new DatabaseSync(workerData as string);
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE messages (id INTEGER PRIMARY KEY, session TEXT NOT NULL, text TEXT NOT NULL) STRICT;
`);
const insert = database.prepare("INSERT INTO messages (session, text) VALUES (?, ?)");

port.on("message", (first: InsertBatch) => {
  const batch = [...first];
  for (let more = receiveMessageOnPort(port); more !== undefined; more = receiveMessageOnPort(port)) {
    batch.push(...(more.message as InsertBatch));
  }
  database.exec("BEGIN IMMEDIATE");
  for (const { session, text } of batch) insert.run(session, text);
  database.exec("COMMIT");
  port.postMessage(batch.map(({ id }) => id));
});
