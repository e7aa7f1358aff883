// Exposes the HTTP API of an embedded engine as a Fetch or Node handler, for programs with their own web server.

import { PublicPage } from "@colloquy/engine/internal/apps/public-page";
import type { IncomingMessage, ServerResponse } from "node:http";
import { request as send } from "node:http";
import { type Duplex, duplexPair, Readable } from "node:stream";
import type { ReadableStream as WebStream } from "node:stream/web";
import { pipeline } from "node:stream/promises";
import { Registry } from "prom-client";
import { createSecretService } from "@colloquy/engine/internal/apps/secrets/vault";
import { DEFAULT_RATE_LIMITS, type RateLimits } from "@colloquy/engine/internal/core/rate-limits";
import { type Engine, partsOf } from "@colloquy/engine/internal/wiring/engine";
import { createReadiness } from "../admin/readiness.ts";
import { buildHttp } from "../http/app.ts";
import type { HttpApp } from "../http/routes/route-parts.ts";
import { parsedProtocols } from "../config/protocols.ts";
import { configuredProtocols } from "./protocols.ts";

export interface HandlerOptions {
  /** Mount path to strip from request URLs, such as `/chat`, if the framework does not strip it. */
  readonly basePath?: string;
  /** Accepted host names without port. Any by default, because the program's own server can check them. */
  readonly allowedHosts?: readonly string[];
  /** Allowed CORS origins; `*` for any. None by default. */
  readonly corsOrigins?: readonly string[];
  /** Enables the default rate limits with these overrides; pass the client address with each request. No limits by default. */
  readonly rateLimits?: Partial<RateLimits>;
  /** Settings of the protocols among the engine's `plugins`, by name. */
  readonly protocols?: Readonly<Record<string, object>>;
}

/** Connection data that a Fetch request lacks. */
export interface RequestContext {
  /** Client address, for rate limits. Requests without an address share one budget. */
  readonly address?: string;
}

export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void;

export type FetchHandler = (request: Request, context?: RequestContext) => Promise<Response>;

/** Connection-specific header fields (RFC 9110 section 7.6.1). */
const OF_CONNECTION = ["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer"];

/** Builds the web server without listening, and returns a Fetch handler for it. */
export async function handlerOf(engine: Engine, options: HandlerOptions): Promise<FetchHandler> {
  const http = build(engine, options);
  await http.ready();
  const { basePath = "" } = options;
  return (request, { address = "" } = {}) => exchange(http, request, { basePath, address });
}

/** Returns a handler for the requests of a Node server. Request bodies must be unread. */
export async function nodeHandlerOf(engine: Engine, options: HandlerOptions): Promise<NodeHandler> {
  const http = build(engine, options);
  await http.ready();
  const { basePath = "" } = options;
  return (request, response) => {
    request.url = withoutBase(request.url ?? "/", basePath);
    http.routing(request, response);
  };
}

function build(
  engine: Engine,
  { allowedHosts = [], corsOrigins = [], rateLimits, protocols = {} }: HandlerOptions,
): HttpApp {
  const { service, config, store, vault, clock, logger, register } = partsOf(engine);
  const unlimited = Object.keys(DEFAULT_RATE_LIMITS).map((name) => [name, Number.MAX_SAFE_INTEGER]);
  return buildHttp({
    services: {
      ...service,
      updates: service.feed,
      readiness: createReadiness({ store, isAlone: true, clock, logger }),
      secrets: createSecretService(service.apps, vault),
      publicPage: new PublicPage({
        apps: service.apps,
        operators: null,
        now: () => clock.monotonic(),
        logger,
      }),
    },
    config: {
      loopback: false,
      trustedProxies: [],
      signInDomains: [],
      allowedHosts,
      corsOrigins,
      rateLimits:
        rateLimits === undefined
          ? (Object.fromEntries(unlimited) as RateLimits)
          : { ...DEFAULT_RATE_LIMITS, ...rateLimits },
      bodyBytes: config.limits.bodyBytes,
    },
    logger,
    // A registry per handler, because each one adds its own metrics to those of the engine.
    register: Registry.merge([register]),
    clock,
    protocols: configuredProtocols(config.plugins, parsedProtocols(config.plugins, protocols)),
    sessionBytes: config.limits.sessionBytes,
  });
}

/** Strips the base path from a path with an optional query. */
function withoutBase(path: string, base: string): string {
  if (!path.startsWith(base)) return path;
  const rest = path.slice(base.length);
  if (rest === "" || rest.startsWith("?")) return `/${rest}`;
  return rest.startsWith("/") ? rest : path;
}

interface Target {
  readonly basePath: string;
  readonly address: string;
}

/** Sends the request over an in-memory connection, so that Node's parser, limits and backpressure apply as on a socket. */
async function exchange(http: HttpApp, request: Request, { basePath, address }: Target): Promise<Response> {
  request.signal.throwIfAborted();
  const url = new URL(request.url);
  const path = withoutBase(url.pathname, basePath);
  const [client, server] = duplexPair();
  // Ignored here: the request or the response reports the failure.
  client.on("error", () => undefined);
  Object.defineProperty(server, "remoteAddress", { value: address });
  http.server.emit("connection", server);
  const headers: Record<string, string> = Object.fromEntries(request.headers);
  for (const name of OF_CONNECTION) delete headers[name];
  const message = send({
    createConnection: () => client,
    method: request.method,
    path: `${path}${url.search}`,
    headers: { host: url.host, ...headers },
  });
  request.signal.addEventListener("abort", () => client.destroy(), { once: true });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    message.once("response", resolve);
    // Stays attached after the response, because an unhandled error would end the process.
    message.on("error", reject);
  });
  const { body } = request;
  if (body === null) message.end();
  else {
    // Do not await: the server may respond before the end of the body, for example if it is too large.
    const limited = body.pipeThrough(upTo(Number(request.headers.get("content-length") ?? Infinity)));
    // Programs with the types of browsers, which import this module, have another `ReadableStream`.
    void pipeline(Readable.fromWeb(limited as WebStream), message).catch((error: unknown) =>
      message.destroy(error as Error),
    );
  }
  return toResponse(await answered, client, request.method === "HEAD");
}

/** Fails after `length` bytes: the server would parse excess bytes as another request (request smuggling). */
function upTo(length: number): TransformStream<Uint8Array, Uint8Array> {
  let left = length;
  return new TransformStream({
    transform(chunk, controller) {
      left -= chunk.byteLength;
      if (left < 0) throw new TypeError("The body of the request is longer than its Content-Length.");
      controller.enqueue(chunk);
    },
  });
}

function toResponse(message: IncomingMessage, connection: Duplex, isHead: boolean): Response {
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct))
    if (!OF_CONNECTION.includes(name)) for (const value of values ?? []) headers.append(name, value);
  const status = message.statusCode ?? 500;
  message.once("close", () => connection.destroy());
  const isEmpty = isHead || status === 204 || status === 304;
  if (isEmpty) message.resume();
  const body = isEmpty ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array>);
  return new Response(body, { status, headers });
}
