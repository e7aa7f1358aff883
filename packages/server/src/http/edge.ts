// Common handling of all requests: checks of host, URL and origin, header fields of the answer, and the log
// line. CORS (WHATWG Fetch, "CORS protocol"; contract section 6) works without credentials, because pages
// send keys in headers.

import type { IncomingMessage } from "node:http";
import { parseSessionId } from "@colloquy/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { ServiceError, InvalidRequest } from "@colloquy/engine/internal/core/errors";
import { decodePercent } from "@colloquy/engine/internal/core/json";
import { isLoopbackName } from "@colloquy/engine/internal/core/loopback";
import type { RateLimits } from "@colloquy/engine/internal/core/rate-limits";
import { rateLimitFields } from "./budgets.ts";
import type { HttpMetrics } from "./metrics.ts";
import { readTarget, SESSION_HEADER, textHeader, timesSent } from "./request.ts";
import type { Services } from "./services.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Start on the monotonic clock; `UNTIMED` for requests that get an immediate response. */
    startedAt: number;
  }
}

/** The part of the service's configuration that the HTTP layer needs. */
export interface HttpConfig {
  /**
   * True if the server is bound to a loopback address: admits loopback origins, refuses foreign host names
   * and, unless a proxy is trusted, lifts the rate limits (contract section 6).
   */
  readonly loopback: boolean;
  /** Origins whose pages may call, as browsers send them (`https://app.example.com`); `*` for any. */
  readonly corsOrigins: readonly string[];
  /**
   * Hosts of the pages where users sign in with wallets. If empty, a server that is not public accepts the
   * request's own.
   */
  readonly signInDomains: readonly string[];
  /** Accepted host names without port, besides loopback names. If empty, a bind beyond loopback accepts any. */
  readonly allowedHosts: readonly string[];
  /** Addresses and CIDR ranges whose `X-Forwarded-For` counts. */
  readonly trustedProxies: readonly string[];
  /** Rate limits, which apply if the service is public: see `isPublic`. */
  readonly rateLimits: RateLimits;
  /** Maximum bytes of request bodies that the process receives at the same time. */
  readonly bodyBytes: number;
}

export type Edge = ReturnType<typeof createEdge>;

/** Creates the edge. `methodsFor` returns the methods of the routes at a request target. */
export function createEdge(
  config: HttpConfig,
  readiness: Services["readiness"],
  methodsFor: (target: string) => readonly string[],
) {
  const checkHost = hostCheck(config);
  const isAllowed = originCheck(config);
  return {
    /**
     * Returns the problem of a request that is independent of its route, or `null`. Stores the parsed query
     * on the request.
     */
    refuse(request: FastifyRequest): ServiceError | null {
      try {
        checkHost(request.raw);
        request.query = readTarget(request.raw.url ?? "");
        return null;
      } catch (thrown) {
        if (thrown instanceof ServiceError) return thrown;
        throw thrown;
      }
    },
    /** Responds to a preflight (WHATWG Fetch section 3.3.2). Returns false for any other request. */
    answerPreflight({ raw }: FastifyRequest, reply: FastifyReply): boolean {
      const { origin, "access-control-request-method": method } = raw.headers;
      if (raw.method !== "OPTIONS" || origin === undefined || method === undefined) return false;
      if (!isAllowed(origin, raw)) {
        void reply.send(originNotAllowed());
        return true;
      }
      void reply
        .code(204)
        .headers(preflightFields(raw, origin, methodsFor(raw.url ?? "")))
        .send();
      return true;
    },
    /**
     * Returns the header fields of every response, in a new object. Each field costs one percent of a
     * snapshot from memory.
     */
    fields({ raw: message, id, spent }: FastifyRequest): Record<string, string> {
      const fields: Record<string, string> = { "x-request-id": id, "cache-control": "no-store" };
      // `undefined` for a request that the framework refuses before routing.
      if (spent !== undefined && spent !== null && spent.length > 0) {
        Object.assign(fields, rateLimitFields(spent));
      }
      const { origin } = message.headers;
      if (origin !== undefined) {
        fields["vary"] = "Origin";
        if (isAllowed(origin, message)) Object.assign(fields, corsFields(origin));
      }
      if (readiness.stopping) fields["connection"] = "close";
      return fields;
    },
  };
}

const ALLOWED_HEADERS =
  "X-Session-Id, SERVICE-APP-KEY, Last-Event-ID, If-None-Match, Prefer, Range, Idempotency-Key, Content-Type, X-Request-Id, " +
  "MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, X-API-Key, Aomi-App-Key, X-Thread-Id";
/** Headers that name a user. The admin API takes operators' keys in one of them, which pages must not send. */
const USER_HEADERS = "Authorization, Colloquy-Owner";
const EXPOSED_HEADERS =
  "Accept-Ranges, Content-Disposition, Content-Range, ETag, Link, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Next-Cursor, X-Request-Id";
/** Seconds that a browser may cache a preflight; Chromium caps at two hours. */
const PREFLIGHT_MAX_AGE = "7200";

function isAdmin({ url = "" }: IncomingMessage): boolean {
  const [target = ""] = url.split(/[?#]/, 1);
  // The router decodes the path too.
  return /^(?:[^/]+:\/\/[^/]*)?\/api\/admin(?:\/|$)/.test(decodePercent(target));
}

function preflightFields(
  message: IncomingMessage,
  origin: string,
  methods: readonly string[],
): Record<string, string> {
  const { "access-control-request-private-network": isPrivate } = message.headers;
  return {
    ...corsFields(origin),
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": isAdmin(message)
      ? ALLOWED_HEADERS
      : `${ALLOWED_HEADERS}, ${USER_HEADERS}`,
    "access-control-max-age": PREFLIGHT_MAX_AGE,
    vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
    // Permits a public site to call a server in a private network (WICG Private Network Access).
    ...(isPrivate === "true" && { "access-control-allow-private-network": "true" }),
  };
}

/** Returns the header fields of an answer to an allowed origin. */
function corsFields(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED_HEADERS,
    // Lets clients detect HTTP/2, which needs no limit on event streams.
    "timing-allow-origin": origin,
  };
}

/** Returns a test for origins whose pages may read answers. */
export function originCheck(config: HttpConfig): (origin: string, message: IncomingMessage) => boolean {
  const listed = new Set(config.corsOrigins.map((origin) => origin.toLowerCase()));
  const isOwnHost = ownHosts(config);
  return (origin, message) =>
    listed.has("*") ||
    listed.has(origin.toLowerCase()) ||
    isOwnOrigin(origin.toLowerCase(), message, isOwnHost) ||
    (config.loopback && isLoopbackOrigin(origin));
}

function originNotAllowed(): ServiceError {
  return new ServiceError(
    403,
    "origin_not_allowed",
    "This server does not allow pages of that origin. Add the origin to cors.origins in the configuration.",
  );
}

/**
 * Returns true if the origin is the server's own. Its host must be checked, because DNS rebinding makes both
 * fields equal. Both schemes count, because the scheme is unknown behind a proxy that terminates TLS.
 */
function isOwnOrigin(
  origin: string,
  message: IncomingMessage,
  isOwnHost: (host: string) => boolean,
): boolean {
  const host = requestHost(message)?.toLowerCase();
  return (
    host !== undefined && (origin === `http://${host}` || origin === `https://${host}`) && isOwnHost(host)
  );
}

function isLoopbackOrigin(origin: string): boolean {
  if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false;
  const { hostname } = new URL(origin);
  return isLoopbackName(hostname);
}

/** Probes and scrapers use node addresses, so these paths accept any Host. */
const FOR_ANY_HOST: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/**
 * Returns a check that throws for requests to foreign hosts (contract section 6). It applies on a loopback
 * bind and wherever allowed hosts are configured, against DNS rebinding.
 */
function hostCheck(config: HttpConfig): (message: IncomingMessage) => void {
  const closed = config.loopback || config.allowedHosts.length > 0;
  const isOwn = ownHosts(config);
  // Cache the last accepted host, because nearly all clients send the same one.
  let known: string | undefined;
  return (message) => {
    // The other field may come from a proxy (RFC 9112 section 3.2).
    if (timesSent(message, "host") > 1) {
      throw new InvalidRequest("http_invalid", "Send the header Host once: this request has several.");
    }
    const host = requestHost(message);
    if (host === undefined) {
      // HTTP/1.1 requires the header (RFC 9112 section 3.2), and browsers, the only victims of rebinding, always send it.
      if (message.httpVersion === "1.0" && (!closed || isForAnyHost(message))) return;
      throw new InvalidRequest("host_missing", "Send the header Host with the name of this server.");
    }
    if (host === known) return;
    if (!closed || isOwn(host)) known = host;
    else if (!isForAnyHost(message)) throw foreignHost();
  };
}

/** Returns a check for loopback and allowed hosts, with or without a port. */
function ownHosts({ allowedHosts }: HttpConfig): (host: string) => boolean {
  const allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
  return (host) => {
    const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.toLowerCase()) ?? [];
    // Names may end with a dot (RFC 1034 section 3.1).
    const name = bracketed ?? plain?.replace(/\.$/, "");
    return name !== undefined && (isLoopbackName(name) || allowed.has(name));
  };
}

/** Returns the requested host. An absolute request target takes precedence (RFC 9112 section 3.2.2). */
function requestHost(message: IncomingMessage): string | undefined {
  const target = message.url ?? "";
  if (!target.startsWith("/") && target.includes("://")) {
    return target.slice(target.indexOf("://") + 3).split(/[/?#]/, 1)[0];
  }
  return message.headers.host;
}

function isForAnyHost({ url = "" }: IncomingMessage): boolean {
  return FOR_ANY_HOST.has(url.replace(/^[^/?#]+:\/\/[^/?#]*/, "").split("?", 1)[0] ?? "");
}

function foreignHost(): ServiceError {
  return new ServiceError(
    403,
    "host_not_allowed",
    "This server does not serve that host. Use localhost on its machine, or add the host to COLLOQUY_ALLOWED_HOSTS.",
  );
}

/** The part of `Clock` that the HTTP layer uses. */
export type Stopwatch = Pick<Clock, "monotonic">;

/** Value of `startedAt` before the clock was read. Reading it costs one percent of a response from memory. */
export const UNTIMED = -1;

/** Responses that take longer than this many milliseconds are logged, unless the client asked to wait. */
const SLOW_MS = 1000;
/** At debug level, one in this many responses is logged. Logging every response would double the cost of a request. */
const SAMPLE = 1000;

export type RequestLog = ReturnType<typeof createRequestLog>;

/** Counts responses, and logs slow and failed ones, without message text, queries and keys. */
export function createRequestLog(metrics: HttpMetrics, logger: Logger, clock: Stopwatch) {
  let count = 0;
  return {
    /** Records the start of a request. */
    started(request: FastifyRequest): void {
      request.startedAt = clock.monotonic();
    },
    /**
     * Records the start of a response. `route` is the pattern; `waited` is true if the client asked for the
     * delay.
     */
    answered(request: FastifyRequest, route: string, status: number, waited: boolean): void {
      const milliseconds = request.startedAt === UNTIMED ? 0 : clock.monotonic() - request.startedAt;
      metrics.answered(request.method, route, status, milliseconds);
      count += 1;
      const slow = milliseconds > SLOW_MS && !waited;
      if (!slow && count % SAMPLE !== 0) return;
      const line = { ...about(request, route), status, milliseconds: Math.round(milliseconds) };
      if (slow) logger.warn(line, "slow request");
      else logger.debug(line, "request (one of a thousand)");
    },
    /** Logs an internal failure with its cause. */
    failed(request: FastifyRequest, route: string, { status, code, cause }: ServiceError): void {
      const line = { ...about(request, route), status, code, ...(cause !== undefined && { err: cause }) };
      if (status === 500) logger.error(line, "request failed");
      else logger.warn(line, "request could not be served");
    },
  };
}

function about(request: FastifyRequest, route: string): object {
  // A header that is no session id may be anything.
  const session = parseSessionId(textHeader(request.raw, SESSION_HEADER) ?? "");
  return {
    request_id: request.id,
    method: request.method,
    route,
    ...(session !== null && { session }),
  };
}
