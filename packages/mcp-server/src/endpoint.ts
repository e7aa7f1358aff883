// Registers `POST /mcp`, which answers one JSON-RPC message.

import { randomUUID } from "node:crypto";
import { parseSessionId } from "@colloquy/protocol";
import {
  CHAT_ACCESS,
  DEFAULT_APP,
  type FastifyReply,
  type FastifyRequest,
  InvalidRequest,
  isJsonObject,
  type JsonObject,
  NotFound,
  ServiceError,
} from "@colloquy/server/protocol";
import { z } from "zod";
import { ERROR_RESPONSES, formatError, identified } from "./errors.ts";
import { objectAt, textAt } from "./json.ts";
import { appIn, AppQuery, challenge } from "./resource-metadata.ts";
import { type App, type Parts, PATH, TAGS } from "./route-parts.ts";
import type { Call } from "./call.ts";
import { spacedAnswer } from "./spaced-answer.ts";
import { sessionOfUri } from "./uris.ts";

/** Maximum bytes of a request: 32,768 characters, each of up to six bytes as escaped JSON, and the envelope. */
const BODY_MAX_BYTES = 256 * 1024;

/** Body as `resolveTarget` rewrites it: the access check reads `id` and `app`. */
interface Body {
  /** Session id in the message; a new one if there is none. */
  readonly id: string;
  readonly app: string;
  /** Unvalidated body of the request. */
  readonly sent: unknown;
}

const EXAMPLE = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

export function endpointRoute(app: App, parts: Parts): void {
  const { context, served } = parts;
  app.post(
    PATH,
    {
      config: {
        access: { ...CHAT_ACCESS, ...served.credentials },
      },
      bodyLimit: BODY_MAX_BYTES,
      onRequest: (request, _reply, done) =>
        done(context.isOriginAllowed(request) ? undefined : foreignOrigin()),
      preValidation: resolveTarget,
      onSend: (request, reply, payload, done) => {
        challenge(parts, request, reply);
        done(null, payload);
      },
      schema: {
        operationId: "mcp",
        summary: "Send a message to the MCP server",
        description:
          "One JSON-RPC message of the Model Context Protocol over streamable HTTP, without sessions.",
        tags: TAGS,
        querystring: AppQuery,
        body: z.unknown().meta({
          description: "A JSON-RPC request or notification",
          type: "object",
          additionalProperties: true,
          example: EXAMPLE,
        }),
        response: RESPONSES,
      },
    },
    async (request, reply) => {
      try {
        return await send(reply, await spacedAnswer(answered(parts, request, reply)), request.id);
      } catch (error) {
        // The server's error handler logs 5xx.
        if (!(error instanceof ServiceError) || error.status >= 500) throw error;
        return await sendError(reply, error, request);
      }
    },
  );
}

async function answered(parts: Parts, request: FastifyRequest, reply: FastifyReply): Promise<Response> {
  const { context, served } = parts;
  const { sent, app } = request.body as Body;
  if (!context.apps(request).some(({ name }) => name === app)) throw appForbidden();
  served.assert(app);
  if (!isJsonObject(sent)) throw notAMessage();
  // Imported on first use: loading the SDK takes longer than starting the service.
  const { answer } = await import("./server.ts");
  const call: Call = {
    ...parts,
    app,
    request,
    conversation: context.conversation(request, { app }),
    acceptsStream: accepts(request, "text/event-stream"),
  };
  return await answer(call, webRequest(request, reply, sent), withoutNulls(sent));
}

/** Returns the JSON-RPC id of the message; `null` if it has none. */
function idOf({ body }: FastifyRequest): string | number | null {
  const { sent } = body as Body;
  const id = isJsonObject(sent) ? sent["id"] : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

/** Adds the session and the App to the body. Never rejects: the access check, with its 401, must come first. */
function resolveTarget(request: FastifyRequest, _reply: unknown, done: () => void): void {
  const sent = request.body;
  const id = (isJsonObject(sent) ? sessionIn(sent) : null) ?? randomUUID();
  request.body = { id, app: appIn(request), sent } satisfies Body;
  done();
}

/** Returns the session id in a `resources/read` or in the arguments of a tool call; `null` if there is none. */
function sessionIn(message: JsonObject): string | null {
  const params = objectAt(message, "params");
  if (message["method"] === "resources/read") return sessionOfUri(textAt(params, "uri"));
  return parseSessionId(textAt(objectAt(params, "arguments"), "session_id"));
}

/** Removes `params` and `arguments` that are `null`, which some clients send in place of omitting them. */
function withoutNulls(message: JsonObject): JsonObject {
  const { params, ...rest } = message;
  if (params === null) return rest;
  if (!isJsonObject(params) || params["arguments"] !== null) return message;
  const { arguments: _, ...others } = params;
  return { ...rest, params: others };
}

/** Returns a request for the SDK that aborts when the client disconnects. */
function webRequest({ raw }: FastifyRequest, reply: FastifyReply, message: JsonObject): Request {
  const gone = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  const headers = new Headers({
    "content-type": "application/json",
    // Some clients omit a type that the specification requires. `Call.acceptsStream` has the sent value.
    accept: "application/json, text/event-stream",
  });
  // Some clients send a version before the handshake has negotiated one.
  const isHandshake = message["method"] === "initialize";
  for (const name of isHandshake ? [] : ["mcp-protocol-version", "mcp-method", "mcp-name"]) {
    const value = raw.headers[name];
    if (typeof value === "string") headers.set(name, value);
  }
  return new Request(`http://localhost${PATH}`, { method: "POST", headers, signal: gone.signal });
}

function accepts({ raw }: FastifyRequest, type: string): boolean {
  return raw.headers.accept?.toLowerCase().includes(type) === true;
}

function sendError(reply: FastifyReply, error: ServiceError, request: FastifyRequest): FastifyReply {
  const { status, code, detail, headers } = error;
  const problem = { status, code, detail, request_id: request.id };
  const { contentType, body } = formatError(problem, idOf(request));
  return reply.code(status).headers(headers).type(contentType).send(body);
}

async function send(
  reply: FastifyReply,
  response: Response | ReadableStream,
  requestId: string,
): Promise<FastifyReply> {
  if (response instanceof ReadableStream)
    return reply.header("x-accel-buffering", "no").type("application/json; charset=utf-8").send(response);
  const type = response.headers.get("content-type") ?? "";
  reply.code(response.status);
  if (response.body === null) return reply.send();
  if (!type.startsWith("application/json")) {
    for (const [name, value] of response.headers) if (name !== "connection") reply.header(name, value);
    return reply.send(response.body);
  }
  const text = await response.text();
  reply.type("application/json; charset=utf-8");
  return reply.send(text.length > ERROR_MAX ? text : withIdentifiedError(text, requestId));
}

/** Longer responses, in characters, are not errors and are not parsed. */
const ERROR_MAX = 16_384;

function withIdentifiedError(text: string, requestId: string): string {
  const message = JSON.parse(text) as { readonly error?: Parameters<typeof identified>[0] };
  return message.error === undefined
    ? text
    : JSON.stringify({ ...message, error: identified(message.error, requestId) });
}

function notAMessage(): InvalidRequest {
  const detail =
    "The body must be one JSON-RPC message. Batches are not supported: send one request per message.";
  return new InvalidRequest("request_invalid", detail);
}

function foreignOrigin(): ServiceError {
  const detail =
    "Pages of this origin may not call the server. Add the origin to cors.origins in the configuration file.";
  return new ServiceError(403, "origin_not_allowed", detail);
}

function appForbidden(): ServiceError {
  const detail = "The key or token does not open this App. Send one that does, or ask the operator for one.";
  return new ServiceError(403, "app_forbidden", detail);
}

/** Returns the 404 for an App that is not served. */
export function notServed(name: string): NotFound {
  const detail = `The MCP server does not serve the App "${name.slice(0, 100)}". protocols["mcp-server"].apps in the configuration file adds Apps.`;
  return new NotFound(
    "app_not_served",
    name === DEFAULT_APP ? `${detail} Other Apps are at ${PATH}?app=NAME.` : detail,
  );
}

const Message = { schema: z.looseObject({}) };
const RESPONSES = {
  200: {
    description: "The JSON-RPC response; a stream of messages if the request has a progress token",
    content: { "application/json": Message, "text/event-stream": Message },
  },
  202: z.undefined().meta({ description: "The notification was accepted" }),
  ...ERROR_RESPONSES,
};
