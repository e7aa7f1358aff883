// Bare node:http that answers every request with the same bytes: the minimum cost of an answer.

import { createServer } from "node:http";
import { listenOnFreePort } from "./listen.ts";
import { serveRole } from "../role.ts";

export interface BytesInput {
  /** Names and values of Colloquy's headers, without those that Node adds itself. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

const WRITTEN_BY_NODE = new Set(["connection", "date", "keep-alive"]);

export async function startBytesControl({ headers: all, body }: BytesInput): Promise<void> {
  const bytes = Buffer.from(body);
  const headers = Object.fromEntries(all.filter(([name]) => !WRITTEN_BY_NODE.has(name.toLowerCase())));
  const server = createServer((_request, response) => {
    response.writeHead(200, headers);
    response.end(bytes);
  });
  const port = await listenOnFreePort(server);
  serveRole({ port: () => port }, () => server.closeAllConnections());
}
