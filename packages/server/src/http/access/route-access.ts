// Types of `config.access`, in which each route declares who may call it. Registering a route without it throws
// (gate.ts).

import type { FastifyRequest } from "fastify";
import type { AppScope } from "@colloquy/engine/internal/core/key-scopes";
import type { ParsedBody } from "../json-text.ts";
import { sessionOfHeader, sessionOfPath } from "../request.ts";

/**
 * `public`: no credentials. `token`: a user's token, for operations on the token itself. `operator`: an
 * operator with the scope `admin:read` for GET, `admin:write` for other methods. An object: credentials of an
 * App.
 */
export type RouteAccess = "public" | "token" | "operator" | AppAccess;

/** Access by App key and user token. Errors take precedence in the order 401, 400, 403 (contract section 6). */
export interface AppAccess {
  /**
   * Source of the session id: the header `X-Session-Id` (optional for `header?`), the path parameter `id`, or
   * the body field `bodyField`.
   */
  readonly session: "header" | "header?" | "path" | "body" | "none";
  /**
   * True if a user's token without `X-Session-Id` authorizes an approver, without access to a session
   * (`Caller.approver`).
   */
  readonly approves?: true;
  /** Body field with the session id; `id` by default. */
  readonly bodyField?: string;
  /**
   * Source of the App. `query`: the query parameter `app`, or the session if it is absent. `body`: the query
   * parameter or the body field `app`. `session`: the session. `opened`: all Apps that the key and the token open.
   */
  readonly app: "query" | "body" | "session" | "opened";
  /** Required scope of the key. */
  readonly scope: AppScope;
  /** True if the route may create the session. */
  readonly creates?: true;
  /**
   * True to require a key for every App except `default`, even if the App allows reading without one
   * (`requireKey: "chat"`).
   */
  readonly needsKey?: true;
  /**
   * True if the handler runs its command inside `Caller.run`. The transaction then checks the session's App,
   * which saves a read for callers without credentials. By default, the App is read before the handler runs.
   */
  readonly inTransaction?: true;
  /** True for an event stream. All sent credentials are checked, and checked again while the stream is open. */
  readonly streams?: true;
  /** `caller`: the handler counts the write against the caller's rate limit, and the gate counts only the body. */
  readonly counted?: "caller";
  /** True for a GET that stores something and therefore counts as a write. */
  readonly stores?: true;
  /**
   * Header that may carry the App key, in addition to `SERVICE-APP-KEY`. With `authorization`, the scheme is
   * `Bearer`.
   */
  readonly keyHeader?: string;
  /**
   * `known`: rejects an `Authorization: Bearer` that is neither a valid App key nor a valid token with 401. By
   * default, routes that need no credentials ignore it.
   */
  readonly bearer?: "known";
  /**
   * Extracts the session id from the path parameter `id`; `null` if it has none. By default, `id` is the
   * session id.
   */
  readonly sessionOf?: (id: string) => string | null;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Who may call the route. */
    access?: RouteAccess;
    /** Body parser; `parseJsonBytes` by default. */
    parseBody?: (bytes: Buffer, request: FastifyRequest) => ParsedBody;
    /** True if the handler reads the body of the request itself, as a stream of any type. */
    streamsBody?: true;
    /**
     * Accepted media types, without parameters; JSON by default. `parseBody` receives the bytes. Types that
     * browsers send cross-origin without a preflight require `session: "header"`.
     */
    mediaTypes?: readonly string[];
  }
}

/** Access of a route without an App. */
const WITHOUT_APP: AppAccess = { session: "none", app: "opened", scope: "read" };

/** Returns the route's `AppAccess`. For routes without App credentials, returns one without a session and an App. */
export function appAccess(access: RouteAccess | undefined): AppAccess {
  return typeof access === "object" ? access : WITHOUT_APP;
}

/** Returns the session id of a request before validation; `null` if it is absent or malformed. */
export function sessionIn({ session, sessionOf }: AppAccess, request: FastifyRequest): string | null {
  if (session === "header" || session === "header?") return sessionOfHeader(request);
  return session === "path" ? sessionOfPath(request, sessionOf) : null;
}
