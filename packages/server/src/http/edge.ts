// The first checks of every request (host, URL, CORS), and the header fields of every answer. CORS (WHATWG Fetch, "CORS protocol"; contract
// section 6) is without credentials: keys travel in headers that a page sets itself.

import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Readiness } from "../core/ports/driving/services.ts";
import { ServiceError, InvalidRequest } from "../core/errors.ts";
import { isLoopbackName } from "../core/loopback.ts";
import { rateLimitFields } from "./budgets.ts";
import type { HttpConfig } from "./http-config.ts";
import { readTarget, timesSent } from "./request.ts";

export interface Edge {
  /** Returns the problem of a request independent of its route, or `null`. Stores the parsed query on the request. */
  refuse(request: FastifyRequest): ServiceError | null;
  /** Answers a preflight; returns false if the request is none. */
  answerPreflight(request: FastifyRequest, reply: FastifyReply): boolean;
  /**
   * Returns the header fields of every answer, in a new object. Keep them few: each costs one percent of a snapshot from memory.
   */
  fields(request: FastifyRequest): Record<string, string>;
}

/** `methodsFor` names the methods of the routes at a request target. */
export function createEdge(
  config: HttpConfig,
  readiness: Readiness,
  methodsFor: (target: string) => readonly string[],
): Edge {
  const checkHost = hostCheck(config);
  const cors = crossOrigin(config);
  return {
    refuse(request) {
      try {
        const refusal = checkHost(request.raw);
        if (refusal !== null) return refusal;
        request.query = readTarget(request.raw.url ?? "");
        return null;
      } catch (thrown) {
        if (thrown instanceof ServiceError) return thrown;
        throw thrown;
      }
    },
    answerPreflight({ raw }, reply) {
      if (!isPreflight(raw)) return false;
      const { origin = "" } = raw.headers;
      if (cors.allows(origin, raw)) {
        void reply
          .code(204)
          .headers(cors.preflight(origin, raw, methodsFor(raw.url ?? "")))
          .send();
      } else {
        void reply.send(originNotAllowed());
      }
      return true;
    },
    fields({ raw: message, id, spent }) {
      const fields: Record<string, string> = { "x-request-id": id, "cache-control": "no-store" };
      if (spent !== undefined && spent !== null && spent.length > 0)
        Object.assign(fields, rateLimitFields(spent));
      const { origin } = message.headers;
      if (origin !== undefined) {
        fields["vary"] = "Origin";
        if (cors.allows(origin, message)) Object.assign(fields, cors.fields(origin));
      }
      if (readiness.stopping) fields["connection"] = "close";
      return fields;
    },
  };
}

const ALLOWED_HEADERS =
  "X-Session-Id, SERVICE-APP-KEY, Last-Event-ID, If-None-Match, Prefer, Idempotency-Key, Content-Type, X-Request-Id";
const EXPOSED_HEADERS = "ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id";
/** Seconds that a browser may cache a preflight; Chromium caps at two hours. */
const PREFLIGHT_MAX_AGE = "7200";

interface CrossOrigin {
  /** Returns true if a page of this origin may read answers. */
  allows(origin: string, message: IncomingMessage): boolean;
  /** Header fields of an answer to an allowed origin. */
  fields(origin: string): Record<string, string>;
  /** Header fields of the answer to a preflight. */
  preflight(origin: string, message: IncomingMessage, methods: readonly string[]): Record<string, string>;
}

function crossOrigin(config: Pick<HttpConfig, "loopback" | "corsOrigins" | "allowedHosts">): CrossOrigin {
  const listed = new Set(config.corsOrigins.map((origin) => origin.toLowerCase()));
  const isOwnHost = ownHosts(config);
  const fields = (origin: string): Record<string, string> => ({
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED_HEADERS,
  });
  return {
    allows: (origin, message) =>
      listed.has("*") ||
      listed.has(origin.toLowerCase()) ||
      isOwnOrigin(origin, message, isOwnHost) ||
      (config.loopback && isLoopbackOrigin(origin)),
    fields,
    preflight: (origin, message, methods) => ({
      ...fields(origin),
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": ALLOWED_HEADERS,
      "access-control-max-age": PREFLIGHT_MAX_AGE,
      vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
      // A public site that calls a server in a private network (WICG Private Network Access).
      ...(message.headers["access-control-request-private-network"] === "true" && {
        "access-control-allow-private-network": "true",
      }),
    }),
  };
}

/** Returns true for a preflight (WHATWG Fetch section 3.3.2). */
function isPreflight(message: IncomingMessage): boolean {
  return (
    message.method === "OPTIONS" &&
    message.headers.origin !== undefined &&
    message.headers["access-control-request-method"] !== undefined
  );
}

function originNotAllowed(): ServiceError {
  return new ServiceError(
    403,
    "origin_not_allowed",
    "This server does not answer pages of that origin. Name the origin under cors.origins in the configuration.",
  );
}

/**
 * Returns true if the origin is the server's own. Its host must be checked, because DNS rebinding makes both fields equal. Behind
 * a proxy that terminates TLS the scheme is unknown, so both count.
 */
function isOwnOrigin(
  origin: string,
  message: IncomingMessage,
  isOwnHost: (host: string) => boolean,
): boolean {
  const host = requestHost(message)?.toLowerCase();
  if (origin.toLowerCase() !== `http://${host}` && origin.toLowerCase() !== `https://${host}`) return false;
  return host !== undefined && isOwnHost(host);
}

function isLoopbackOrigin(origin: string): boolean {
  if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false;
  const { hostname } = new URL(origin);
  return isLoopbackName(hostname.startsWith("[") ? hostname.slice(1, -1) : hostname);
}

/** Returns the problem with a request's host, `null` if there is none. */
type HostCheck = (message: IncomingMessage) => ServiceError | null;

/** Probes and scrapers use node addresses, so these paths accept any Host. */
const FOR_ANY_HOST: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/**
 * Refuses requests for foreign hosts, on a loopback bind and wherever allowed hosts are configured, against DNS rebinding
 * (contract section 6).
 */
function hostCheck(config: Pick<HttpConfig, "loopback" | "allowedHosts">): HostCheck {
  const closed = config.loopback || config.allowedHosts.length > 0;
  const isOwn = ownHosts(config);
  // The last host that passed: nearly all clients send the same one.
  let known: string | undefined;
  return (message) => {
    // A proxy may have used the other one (RFC 9112 section 3.2).
    if (timesSent(message, "host") > 1) return twoHosts();
    const host = requestHost(message);
    if (host === known && host !== undefined) return null;
    if (host === undefined) {
      // HTTP/1.1 requires it (RFC 9112 section 3.2), and browsers, the only rebinding victims, always send it.
      return message.httpVersion === "1.0" && (!closed || isForAnyHost(message)) ? null : missingHost();
    }
    if (closed && !isOwn(host)) return isForAnyHost(message) ? null : foreignHost();
    known = host;
    return null;
  };
}

/** Returns a test for loopback and allowed hosts, with or without a port. */
function ownHosts({ allowedHosts }: Pick<HttpConfig, "allowedHosts">): (host: string) => boolean {
  const allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
  return (host) => {
    const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.toLowerCase()) ?? [];
    // Names may end with a dot (RFC 1034 section 3.1).
    const name = bracketed ?? plain?.replace(/\.$/, "");
    return name !== undefined && (isLoopbackName(name) || allowed.has(name));
  };
}

/** Returns the requested host; an absolute request target wins (RFC 9112 section 3.2.2). */
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

function missingHost(): ServiceError {
  return new InvalidRequest("host_missing", "Send the header Host with the name of this server.");
}

function twoHosts(): ServiceError {
  return new InvalidRequest("http_invalid", "Send the header Host once: this request has several.");
}

function foreignHost(): ServiceError {
  return new ServiceError(
    403,
    "host_not_allowed",
    "This server does not answer to that host. Ask for localhost on its machine, or add the host to COLLOQUY_ALLOWED_HOSTS.",
  );
}
