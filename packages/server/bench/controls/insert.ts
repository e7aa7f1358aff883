// Bare node:http that inserts one row for each request and answers when it is on the disk: a thread that commits everything
// that has come since its last commit, with the settings that Colloquy uses. The least that a durable answer can cost.

import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { listenOnFreePort } from "./listen.ts";
import { serveRole } from "../role.ts";

export interface InsertInput {
  readonly directory: string;
}

/** What goes to the thread in one message: everything of one turn of the event loop. */
export type InsertBatch = readonly { readonly id: number; readonly session: string; readonly text: string }[];

const BODY = Buffer.from('{"stored":true}');
const HEADERS = { "content-type": "application/json; charset=utf-8", "content-length": BODY.length };

export async function startInsertControl({ directory }: InsertInput): Promise<void> {
  const worker = new Worker(new URL("./insert-worker.ts", import.meta.url), {
    workerData: join(directory, "control.db"),
  });
  const waiting = new Map<number, ServerResponse>();
  let batch: InsertBatch[number][] = [];
  let last = 0;
  const flush = () => {
    worker.postMessage(batch satisfies InsertBatch);
    batch = [];
  };
  worker.on("message", (ids: readonly number[]) => {
    for (const id of ids) {
      const response = waiting.get(id);
      waiting.delete(id);
      response?.writeHead(200, HEADERS);
      response?.end(BODY);
    }
  });
  const server = createServer((request, response) => {
    last += 1;
    waiting.set(last, response);
    if (batch.length === 0) setImmediate(flush);
    batch.push({ id: last, session: String(request.headers["x-session-id"]), text: request.url ?? "" });
  });
  const port = await listenOnFreePort(server);
  serveRole({ port: () => port }, async () => {
    server.closeAllConnections();
    await worker.terminate();
  });
}
