// A mock model provider with one model per quirk.

import type { ServerResponse } from "node:http";
import { ProviderServer, type ProviderRequest } from "../provider-server.ts";
import { ANTHROPIC_QUIRKS, CHAT_QUIRKS, GOOGLE_QUIRKS, type Quirk, RESPONSES_QUIRKS } from "./quirks.ts";

/** Quirks of each protocol, by request path. */
const PATHS: readonly (readonly [path: RegExp, quirks: readonly Quirk[]])[] = [
  [/\/chat\/completions$/, CHAT_QUIRKS],
  [/\/responses$/, RESPONSES_QUIRKS],
  [/\/messages$/, ANTHROPIC_QUIRKS],
  [/\/models\/[^/]+:streamGenerateContent/, GOOGLE_QUIRKS],
];

/** Responds with the quirk named by the request's model; 404 for unknown models. */
export function answerQuirk(response: ServerResponse, request: ProviderRequest): void {
  const quirks = PATHS.find(([path]) => path.test(request.path))?.[1] ?? [];
  const named = request.body["model"];
  const model = typeof named === "string" ? named : (/\/models\/([^/:]+)/.exec(request.path)?.[1] ?? "");
  const quirk = quirks.find(({ name }) => name === model);
  if (quirk !== undefined) {
    void writeQuirk(response, quirk);
    return;
  }
  response.writeHead(404, { "content-type": "application/json" });
  const message = `There is no quirk "${model}". Quirks: ${quirks.map(({ name }) => name).join(", ")}`;
  response.end(JSON.stringify({ error: { message, type: "not_found_error" } }));
}

export async function writeQuirk(response: ServerResponse, quirk: Quirk): Promise<void> {
  const { pieces, after = "end", forever, status = 200 } = quirk;
  const { headers = { "content-type": "text/event-stream" } } = quirk;
  response.writeHead(status, headers);
  response.flushHeaders();
  for (const piece of pieces) await write(response, piece);
  while (forever !== undefined && !response.destroyed) await write(response, forever);
  // A client may reuse the connection after the head of a 204, so that an open response would block somebody else's request.
  if (after === "end" || status === 204) response.end();
  else if (after === "reset") response.socket?.resetAndDestroy();
}

/** Writes a piece and waits until it is flushed. */
async function write(response: ServerResponse, piece: string | Buffer): Promise<void> {
  if (response.destroyed || piece.length === 0) return;
  await new Promise<void>((resolve) => {
    response.once("close", resolve);
    response.write(piece, () => {
      response.off("close", resolve);
      setImmediate(resolve);
    });
  });
}

export async function startQuirkProvider(port = 0): Promise<ProviderServer> {
  const provider = new ProviderServer();
  provider.answer = answerQuirk;
  await provider.start(port);
  return provider;
}
