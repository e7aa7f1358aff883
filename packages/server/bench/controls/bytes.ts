// Bare node:http that sends the same bytes to every request: the least that an answer can cost.

import { createServer } from "node:http";
import { listenOnFreePort } from "./listen.ts";
import { serveRole } from "../role.ts";

export interface BytesInput {
  readonly body: string;
}

export async function startBytesControl({ body }: BytesInput): Promise<void> {
  const bytes = Buffer.from(body);
  const headers = { "content-type": "application/json; charset=utf-8", "content-length": bytes.length };
  const server = createServer((_request, response) => {
    response.writeHead(200, headers);
    response.end(bytes);
  });
  const port = await listenOnFreePort(server);
  serveRole({ port: () => port }, () => server.closeAllConnections());
}
