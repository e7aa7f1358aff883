// Bare node:http event streams: every GET stays open; a POST writes one event to the stream with its number,
// at once or, with `durable`, after a row for it is durable.

import { createServer, type ServerResponse } from "node:http";
import { serveRole, memoryAfterGc } from "../role.ts";
import { openGroupCommit } from "./group-commit.ts";
import { listenOnFreePort } from "./listen.ts";

export interface StreamsInput {
  readonly directory: string;
}

const HEAD = { "content-type": "text/event-stream", "cache-control": "no-store" };

async function build({ directory }: StreamsInput) {
  const streams: ServerResponse[] = [];
  const rows = openGroupCommit(directory);
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://control");
    const number = Number(url.searchParams.get("stream"));
    const mark = url.searchParams.get("mark") ?? "";
    if (request.method === "GET") {
      streams[number] = response;
      response.writeHead(200, HEAD);
      response.write("retry: 2000\n\n");
      return;
    }
    const emit = () => {
      streams[number]?.write(`id: a-1\ndata: {"type":"title_changed","new_title":"${mark}"}\n\n`);
      response.writeHead(200, { "content-length": 2 });
      response.end("{}");
    };
    if (url.searchParams.has("durable")) rows.insert(String(number), mark, emit);
    else emit();
  });
  const port = await listenOnFreePort(server);
  const handlers = { port: () => port, triggerPort: () => port, memory: () => memoryAfterGc() };
  const stop = async () => {
    server.closeAllConnections();
    await rows.close();
  };
  return { handlers, stop };
}

export type StreamsHandlers = Awaited<ReturnType<typeof build>>["handlers"];

export async function startStreamsControl(input: StreamsInput): Promise<void> {
  const { handlers, stop } = await build(input);
  serveRole(handlers, stop);
}
