// Adapts the MCP SDK, which implements revision 2026-07-28 and the revisions of 2025. endpoint.ts imports
// this module on the first message.

import type { JsonObject } from "@colloquy/server/protocol";
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import manifest from "../package.json" with { type: "json" };
import type { Call } from "./call.ts";
import { objectAt } from "./json.ts";
import { addResources } from "./resources.ts";
import { addTools } from "./tools.ts";

/** Context of each request: the SDK passes only the request to the server factory. */
const calls = new WeakMap<Request, Call>();

const modern = createMcpHandler(
  ({ requestInfo }) => {
    const call = requestInfo === undefined ? undefined : calls.get(requestInfo);
    if (call === undefined) throw new Error("The SDK has replaced the request");
    return serverFor(call);
  },
  { legacy: "reject" },
);

export async function answer(call: Call, request: Request, message: JsonObject): Promise<Response> {
  // The SDK would keep a stream open, on which this server never sends notifications.
  if (message["method"] === "subscriptions/listen") return methodNotFound(message);
  calls.set(request, call);
  if (!(await isLegacyRequest(request, message))) return await modern.fetch(request, { parsedBody: message });
  const server = serverFor(call);
  const enableJsonResponse = !streams(call, message);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse });
  await server.connect(transport);
  request.signal.addEventListener("abort", () => void server.close(), { once: true });
  return await transport.handleRequest(request, { parsedBody: message });
}

/** Returns true if notifications may precede the response, which then needs a stream. */
function streams({ acceptsStream }: Call, message: JsonObject): boolean {
  const { progressToken } = objectAt(objectAt(message, "params"), "_meta");
  return acceptsStream && progressToken !== undefined;
}

function serverFor(call: Call): McpServer {
  const server = new McpServer(
    { name: "colloquy", title: "Colloquy", version: manifest.version },
    {
      instructions: INSTRUCTIONS,
      capabilities: { tools: { listChanged: false }, resources: { listChanged: false } },
    },
  );
  addTools(server, call);
  addResources(server, call);
  return server;
}

const INSTRUCTIONS =
  "Conversations with an assistant that keeps their history. start_conversation begins one and returns its session_id; " +
  "send_message continues it. An answer with the status queued or running goes on: call get_conversation with " +
  "wait_seconds until it has ended. With the status waiting, a person must decide the pending actions.";

function methodNotFound({ id = null }: JsonObject): Response {
  const error = {
    code: ProtocolErrorCode.MethodNotFound,
    message: "This server sends no notifications of changes.",
  };
  return Response.json({ jsonrpc: "2.0", id, error }, { status: 404 });
}
