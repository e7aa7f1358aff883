// Assembles the HTTP server and the hooks of each request, in order. `routes/` contains the operations.

import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import Fastify, {
  type FastifyContextConfig,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
  type RouteOptions,
} from "fastify";
import type { Registry } from "prom-client";
import manifest from "../../package.json" with { type: "json" };
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import type { Hidden } from "@colloquy/engine/internal/core/hidden";
import { decodePercent } from "@colloquy/engine/internal/core/json";
import { isPublic } from "@colloquy/engine/internal/core/loopback";
import { sessionIdsIn } from "@colloquy/engine/internal/core/session-handles";
import type { OperatorTokens } from "@colloquy/engine/internal/apps/users/operator-tokens";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type { RateCounters } from "@colloquy/engine/internal/core/ports/driven/rate-counters";
import type { AdminService } from "../admin/administration.ts";
import { guardRoutes } from "./access/gate.ts";
import { authenticateOperators, recordRefusedKeys } from "./access/operators.ts";
import { createAdmission } from "./admission.ts";
import { createAnswers } from "./answers.ts";
import { Budgets } from "./budgets.ts";
import { capConnections } from "./concurrency-limits.ts";
import { compileSerializer, compileValidator, SESSION_HEADER, textHeader } from "./request.ts";
import {
  createEdge,
  createRequestLog,
  type Edge,
  type HttpConfig,
  type RequestLog,
  type Stopwatch,
  UNTIMED,
} from "./edge.ts";
import { foreignRoute, noSuchRoute } from "./foreign-paths.ts";
import { canonicalPath } from "./path-aliases.ts";
import { finishAfterHalfClose, KEEP_ALIVE_MS, lingerAfterLastAnswer } from "./connections.ts";
import { createHttpMetrics, NO_ROUTE } from "./metrics.ts";
import { continueInTurn, HEAD_MAX_BYTES, refuseConnection, refuseProtocolExtras } from "./parser-errors.ts";
import { BODY_MAX_BYTES, problemBytes, problemOf, PROBLEM_TYPE, toServiceError } from "./problem.ts";
import { type PageDirectories, pageRoutes, referenceRoutes } from "./pages.ts";
import { allRoutes } from "./routes/all-routes.ts";
import type { ConfiguredProtocol } from "./protocol.ts";
import { mountProtocols } from "./mounted-protocols.ts";
import type { HttpApp, RouteParts } from "./routes/route-parts.ts";
import { BodiesInFlight } from "./bodies-in-flight.ts";
import { createBodyParser } from "./read-body.ts";
import type { Services } from "./services.ts";
import { STATE_ROUTE } from "./routes/state.ts";

/**
 * Maximum milliseconds for a client to send the head of a request, and a file. Other bodies have 30 s (`read-body.ts`), and
 * responses no limit.
 */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 10 * 60_000;
/** Interval in milliseconds at which Node checks for requests beyond these limits. */
const TIMEOUT_CHECK_MS = 5000;
/** Header fields of all responses except snapshots and event streams. */
const EVERYWHERE = { vary: "Origin", "x-content-type-options": "nosniff" };

export interface HttpParts {
  readonly services: Services;
  readonly config: HttpConfig;
  readonly logger: Logger;
  /** Metrics that `/metrics` shows, including those of requests and of the process. */
  readonly register: Registry;
  readonly clock: Stopwatch;
  /** Rate-limit counts of all nodes; `null` for a single process. */
  readonly rateCounters?: RateCounters | null;
  /** `null` disables the admin API. */
  readonly admin?: {
    readonly key: Hidden<string> | null;
    /** Absent or `null` if operators have no tokens. */
    readonly operators?: OperatorTokens | null;
    readonly service: AdminService;
  } | null;
  /** Console and guide; absent if neither is served. */
  readonly pages?: PageDirectories;
  readonly protocols?: readonly ConfiguredProtocol[];
  /** Maximum bytes of a session's messages. */
  readonly sessionBytes: number;
}

/** Builds the HTTP server, which does not listen yet. */
export function buildHttp(parts: HttpParts): HttpApp {
  const { services, config, logger, register, clock } = parts;
  const nextId = requestIds();
  const methods = new MethodTable();
  const edge = createEdge(config, services.readiness, (target) => methods.at(target));
  const metrics = createHttpMetrics(register);
  const log = createRequestLog(metrics, logger, clock);
  const app: HttpApp = Fastify({
    logger: false,
    genReqId: nextId,
    bodyLimit: BODY_MAX_BYTES,
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    // While the server closes, each connection still gets the response to its last request.
    return503OnClosing: false,
    rewriteUrl: (message) => canonicalPath(withoutTrailingSlash(message)),
    routerOptions: {
      maxParamLength: HEAD_MAX_BYTES,
      // `edge.ts` parses the query, so that an invalid query gets a problem document.
      querystringParser: () => ({}),
    },
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      maxHeaderSize: HEAD_MAX_BYTES,
      // Node would respond with an empty 400; the edge responds with a problem document.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => {
      refuseBeforeRouting(edge, request, reply.raw, toServiceError(error));
    },
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, () => nextId(null)),
  });
  onEveryConnection(app, parts, nextId);
  app.decorateRequest("startedAt", UNTIMED);
  app.decorateRequest("seesSessionIds", false);
  for (const name of ["operator", "spent", "refund"]) app.decorateRequest(name, null);
  const limited = createLimits(parts);
  app.addHook("onRoute", ({ method, url }) => metrics.known([method].flat(), url));
  const administration = adminParts(parts, limited.budgets);
  // Hooks run in the order of these calls.
  guardRoutes(app, {
    services,
    log,
    admission: limited.admission,
    operators: administration?.operators ?? null,
  });
  onEveryRoute(app, methods, log);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", createBodyParser(bodiesOf(config)));
  app.setValidatorCompiler(compileValidator);
  app.setSerializerCompiler(compileSerializer);
  passEveryRequest(app, edge, log);
  answerFailures(app, log, methods);
  const answers = createAnswers(edge, log);
  const protocols = mountProtocols(app, parts, { services, answers, admission: limited.admission });
  const routeParts: RouteParts = {
    services,
    log,
    config,
    version: manifest.version,
    answers,
    admission: limited.admission,
    admin: administration,
    protocols,
    guide: parts.pages?.guide ?? null,
  };
  void app.register(async (routes) => await allRoutes(routes.withTypeProvider(), routeParts, register));
  referenceRoutes(app, routeParts, register);
  if (parts.pages !== undefined) pageRoutes(app, parts.pages, services.publicPage);
  return app;
}

function createLimits({ services, config, clock, rateCounters: counters = null }: HttpParts) {
  const budgets = new Budgets({ limits: config.rateLimits, now: () => clock.monotonic(), counters });
  return { budgets, admission: createAdmission({ config, services, budgets, counters }) };
}

/** The limit of an address applies to a public service, the limit in all to every service. */
function bodiesOf(config: HttpConfig): BodiesInFlight {
  const { bodyBytesPerAddress } = config.rateLimits;
  return new BodiesInFlight({
    perAddress: isPublic(config) ? bodyBytesPerAddress : null,
    inAll: config.bodyBytes,
  });
}

function adminParts(
  { admin = null, services: { keys, audit }, register, logger }: HttpParts,
  budgets: Budgets,
): RouteParts["admin"] {
  // Registered without an admin key too, so that `/metrics` does not reveal whether there is one.
  const note = recordRefusedKeys(register, logger, audit);
  if (admin === null) return null;
  const { service, key, operators = null } = admin;
  return { service, operators: authenticateOperators({ key, operators, keys, budgets, note }) };
}

/** Changes how Node's server handles connections and rare parts of the protocol. */
function onEveryConnection(
  { server }: HttpApp,
  { config, register }: HttpParts,
  nextId: ReturnType<typeof requestIds>,
): void {
  capConnections(server, { config, isPublic: isPublic(config), register, nextId: () => nextId(null) });
  lingerAfterLastAnswer(server);
  finishAfterHalfClose(server);
  continueInTurn(server);
  refuseProtocolExtras(server, nextId);
}

/**
 * Returns true if the framework would read a body for a route that takes none. It never reads one for GET and
 * HEAD.
 */
function takesNone({ method, schema, config }: RouteOptions): boolean {
  return (
    config?.streamsBody !== true &&
    schema?.body === undefined &&
    !["GET", "HEAD"].includes([method].flat().join())
  );
}

function onEveryRoute(app: HttpApp, methods: MethodTable, log: RequestLog): void {
  const start: onRequestHookHandler = (request, _reply, done) => {
    log.started(request);
    done();
  };
  // The framework refuses a malformed type even if `parseBody` ignores the body.
  const forgetType: onRequestHookHandler = (request, _reply, done) => {
    delete request.raw.headers["content-type"];
    done();
  };
  app.addHook("onRoute", (route) => {
    methods.add(route);
    const first = [...(route.url === STATE_ROUTE ? [] : [start]), ...(takesNone(route) ? [forgetType] : [])];
    if (first.length > 0) route.onRequest = [...first, ...[route.onRequest ?? []].flat()];
  });
}

function passEveryRequest(app: HttpApp, edge: Edge, log: RequestLog): void {
  app.addHook("onRequest", (request, reply, done) => {
    // Without a valid type, the framework would refuse the body before it answers that the path does not know the method.
    if (request.is404) request.raw.headers["content-type"] = "application/octet-stream";
    const refusal = edge.refuse(request);
    if (refusal !== null) done(refusal);
    else if (!edge.answerPreflight(request, reply)) done();
  });
  // `answers.ts` writes snapshots and streams without this hook, and sets these fields itself.
  app.addHook("onSend", (request, reply, payload, done) => {
    const fields = { ...EVERYWHERE, ...edge.fields(request) };
    for (const [name, value] of Object.entries(fields)) if (!reply.hasHeader(name)) reply.header(name, value);
    log.answered(request, routeOf(request), reply.statusCode, false);
    done(null, payload);
  });
}

function answerFailures(app: HttpApp, log: RequestLog, methods: MethodTable): void {
  app.setErrorHandler((thrown, request, reply) => {
    const error = toServiceError(thrown);
    if (error.status >= 500) log.failed(request, routeOf(request), error);
    // A refused change stores nothing, and must take nothing from others of its App.
    else request.refund?.();
    // The framework would close the connection of an oversized body while the client is sending, which loses the response.
    if (error.status === 413) reply.removeHeader("connection");
    return sendProblem(request, reply, error);
  });
  app.setNotFoundHandler((request, reply) => {
    const known = methods.at(request.raw.url ?? "");
    // A route may already have called this handler, for an unknown name below its path.
    const single = known.length > 0 ? null : singleSlashes(request.originalUrl);
    if (single !== null && methods.at(single.path).length > 0)
      return reply.code(308).header("location", single.relative).send();
    if (known.length === 0 || known.includes(request.method)) {
      const hasRoute = (path: string): boolean => methods.at(path).length > 0;
      const formatError = methods.formatErrorAt(foreignRoute(request.originalUrl) ?? "");
      return sendProblem(request, reply, noSuchRoute(request.originalUrl, hasRoute), formatError);
    }
    const allow = [...known, "OPTIONS"].join(", ");
    if (request.method === "OPTIONS") return reply.code(204).header("allow", allow).send();
    const detail = `This path does not know ${request.method}. Use one of: ${allow}.`;
    const error = new ServiceError(405, "method_not_allowed", detail, { headers: { allow } });
    return sendProblem(request, reply, error, methods.formatErrorAt(request.raw.url ?? ""));
  });
}

function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  error: ServiceError,
  formatError = request.routeOptions.config.formatError,
): FastifyReply {
  reply.code(error.status).headers(error.headers);
  if (formatError === undefined) return reply.type(PROBLEM_TYPE).send(problemBytes(error, request.id));
  const { contentType, body } = formatError(problemOf(error, request.id));
  return reply.type(contentType).send(Buffer.from(body));
}

/** Proxies may close the admin API by exact paths, so it has no other spelling. */
const HAS_OTHER_SPELLINGS = /^\/+(?:api\/+(?!\/|admin(?:\/|$))[^%?#]*|mcp\/?)$/;

/** Returns the request target without a slash at the end of its path, which clients' URL joins leave there. */
function withoutTrailingSlash({ url = "", method }: IncomingMessage): string {
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  if (!path.endsWith("/") || path.includes("//") || !HAS_OTHER_SPELLINGS.test(path)) return url;
  // The removal of a secret without a name must not remove all of them.
  if (method === "DELETE" && path === "/api/secrets/") return url;
  return path.slice(0, -1) + url.slice(path.length);
}

/**
 * Returns the path without doubled slashes, and a reference to it that is relative to the request, so that it holds
 * behind a path prefix and names no other host. `null` for a path without them.
 */
function singleSlashes(target: string): { readonly path: string; readonly relative: string } | null {
  const [sent = "", ...query] = target.split(/(?=\?)/);
  if (!sent.includes("//") || !HAS_OTHER_SPELLINGS.test(sent)) return null;
  const path = sent.replaceAll(/\/+/g, "/").replace(/\/$/, "");
  const up = "../".repeat(sent.split("/").length - 2);
  return { path, relative: `${up}${path.slice(1)}${query.join("")}` };
}

/** Refuses a path that cannot be decoded: it matches no route, so no hook sees it. */
function refuseBeforeRouting(
  edge: Edge,
  request: FastifyRequest,
  response: ServerResponse,
  error: ServiceError,
): void {
  const refusal = edge.refuse(request) ?? error;
  const body = problemBytes(refusal, request.id);
  response.writeHead(refusal.status, {
    ...EVERYWHERE,
    ...edge.fields(request),
    "content-type": PROBLEM_TYPE,
    "content-length": body.length,
  });
  response.end(body);
}

/** Returns the pattern of the route, so that metrics and logs contain no id and no query. */
function routeOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? NO_ROUTE;
}

/** The methods of each path's routes, for `405` and `Allow` (RFC 9110 section 15.5.6), and their error format. */
class MethodTable {
  readonly #routes: { readonly pattern: RegExp; readonly options: RouteOptions }[] = [];

  /** Adds a route, whose `url` is a pattern such as `/api/sessions/:id`. */
  add(options: RouteOptions): void {
    const { url } = options;
    const source = url.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll(/:[^/]+/g, "[^/]+");
    const pattern = new RegExp(`^${source.replaceAll("*", ".*")}$`);
    this.#routes.push({ pattern, options });
  }

  /** Returns the sorted methods at the path of a request target; empty if it has no route. */
  at(target: string): readonly string[] {
    return [...new Set(this.#matching(target).flatMap(({ method }) => method))].toSorted();
  }

  /** Returns the error format of the protocol that serves the path; `undefined` for problem documents. */
  formatErrorAt(target: string): FastifyContextConfig["formatError"] {
    // Protocols set it after `add`, so it is read from the options here.
    return this.#matching(target).find(({ config }) => config?.formatError !== undefined)?.config
      ?.formatError;
  }

  #matching(target: string): readonly RouteOptions[] {
    const path = /^[^?#]*/.exec(target)?.[0] ?? "";
    return this.#routes.filter(({ pattern }) => pattern.test(path)).map(({ options }) => options);
  }
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Returns a function that returns request ids: a valid `X-Request-Id` of the client, unless it contains the
 * request's session id, or else this process's random prefix and a count (contract section 6).
 */
function requestIds(): (message: IncomingMessage | null) => string {
  const prefix = randomBytes(6).toString("hex");
  let count = 0;
  return (message) => {
    const own = message?.headers["x-request-id"];
    if (message !== null && typeof own === "string" && REQUEST_ID.test(own) && !namesSession(own, message))
      return own;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}

/**
 * Returns true if the request id contains the session id of the header or the URL: request ids are logged as they are. Looks in the
 * header and the URL, which may be long, only for the ids in the request id.
 */
function namesSession(requestId: string, message: IncomingMessage): boolean {
  const named = sessionIdsIn(requestId);
  if (named.length === 0) return false;
  const used =
    `${textHeader(message, SESSION_HEADER) ?? ""} ${decodePercent(message.url ?? "")}`.toLowerCase();
  return named.some((id) => used.includes(id));
}
