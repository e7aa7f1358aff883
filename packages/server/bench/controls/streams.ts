// Bare node:http event streams: every GET stays open, a POST writes one event to the stream whose number it names.

import { createServer, type ServerResponse } from "node:http";
import { listenOnFreePort } from "./listen.ts";
import { serveRole, settledMemory } from "../role.ts";

const HEAD = { "content-type": "text/event-stream", "cache-control": "no-store" };

async function build() {
  const streams: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://control");
    const number = Number(url.searchParams.get("stream"));
    if (request.method === "GET") {
      streams[number] = response;
      response.writeHead(200, HEAD);
      response.write("retry: 2000\n\n");
      return;
    }
    streams[number]?.write(
      `id: a-1\ndata: {"type":"title_changed","new_title":"${url.searchParams.get("mark") ?? ""}"}\n\n`,
    );
    response.writeHead(200, { "content-length": 2 });
    response.end("{}");
  });
  const port = await listenOnFreePort(server);
  return { server, handlers: { port: () => port, memory: () => settledMemory() } };
}

export type StreamsHandlers = Awaited<ReturnType<typeof build>>["handlers"];

export async function startStreamsControl(): Promise<void> {
  const { server, handlers } = await build();
  serveRole(handlers, () => server.closeAllConnections());
}
