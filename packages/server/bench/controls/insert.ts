// Bare node:http that inserts one row per request and answers once it is durable.

import { createServer } from "node:http";
import { serveRole } from "../role.ts";
import { openGroupCommit } from "./group-commit.ts";
import { listenOnFreePort } from "./listen.ts";

export interface InsertInput {
  readonly directory: string;
}

const BODY = Buffer.from('{"stored":true}');
const HEADERS = { "content-type": "application/json; charset=utf-8", "content-length": BODY.length };

export async function startInsertControl({ directory }: InsertInput): Promise<void> {
  const rows = openGroupCommit(directory);
  const server = createServer((request, response) => {
    rows.insert(String(request.headers["x-session-id"]), request.url ?? "", () => {
      response.writeHead(200, HEADERS);
      response.end(BODY);
    });
  });
  const port = await listenOnFreePort(server);
  serveRole({ port: () => port }, async () => {
    server.closeAllConnections();
    await rows.close();
  });
}
