// Enforces the declared access of every route, in this order: budgets and credentials before the body is read
// (401, 429); the credentials again afterwards, because they may be revoked while a slow body arrives;
// validation (400); the budget for stored bytes (429); access to Apps and sessions, requested by the handler
// (403); the session's state in the transaction.

import type {
  FastifyError,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
  preParsingHookHandler,
  RouteHandlerMethod,
  RouteOptions,
} from "fastify";
import type { Admission } from "../admission.ts";
import type { Counted } from "../budgets.ts";
import { type RequestLog, UNTIMED } from "../edge.ts";
import type { Services } from "../services.ts";
import {
  appOfBody,
  appOfQuery,
  optionalSessionId,
  requiredSessionId,
  SESSION_HEADER,
  textHeader,
} from "../request.ts";
import type { HttpApp } from "../routes/route-parts.ts";
import { AppRules } from "./app-rules.ts";
import { Caller, type CallerParts } from "./caller.ts";
import { credentialsOf } from "./credentials.ts";
import type { Operators } from "./operators.ts";
import { type AppAccess, appAccess, type RouteAccess, sessionIn } from "./route-access.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The caller, checked against the route's declared access. `null` before the gate has run. */
    caller: Caller;
  }
}

export interface GateParts {
  readonly services: Pick<Services, "keys" | "users" | "apps" | "conversations">;
  readonly admission: Admission;
  /** `null` if there is no admin API. */
  readonly operators: Operators | null;
  readonly log: RequestLog;
}

const READS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * Guards every route registered after this call, including routes of plugins. Registration throws without
 * `config.access`.
 */
export function guardRoutes(app: HttpApp, { services, ...parts }: GateParts): void {
  const { keys, users, apps, conversations } = services;
  const callerParts = { keys, users, conversations, rules: new AppRules(apps) };
  app.decorateRequest("caller", null as never);
  app.addHook("onRoute", (route) => {
    const access = route.config?.access;
    if (access === undefined) {
      const name = `${[route.method].flat().join(", ")} ${route.url}`;
      throw new Error(`The route ${name} declares no access. Set config.access; "public" is for everybody.`);
    }
    guardRoute(route, access, { ...parts, callerParts });
  });
}

function guardRoute(
  route: RouteOptions,
  access: RouteAccess,
  {
    admission,
    operators,
    log,
    callerParts,
  }: Omit<GateParts, "services"> & { readonly callerParts: CallerParts },
): void {
  if (mayComeFromAnyPage(route, access))
    throw new Error(
      `Pages of other origins may send bodies to ${route.url}. Name the session in the header.`,
    );
  const gate = new Gate(access, callerParts);
  const count = admission.count(route, access);
  const charge = admission.charge(route, access);
  const before: onRequestHookHandler[] = [
    (request, _reply, done) => {
      gate.admit(request);
      whenDone(
        () => count?.(request),
        (error) => (error === null ? done() : done(error)),
      );
    },
  ];
  if (access === "operator") {
    if (operators === null) throw new Error(`There are no operators for the route ${route.url}`);
    before.push(operators.check);
  }
  route.onRequest = [...before, ...[route.onRequest ?? []].flat()];
  const mayHaveBody = ![route.method].flat().every((method) => READS.has(method));
  if (mayHaveBody) {
    const beforeBody: preParsingHookHandler = (request, _reply, payload, done) =>
      whenDone(
        () => gate.authenticate(request, !hasBody(request)),
        (error) => done(error, payload),
      );
    route.preParsing = [beforeBody, ...[route.preParsing ?? []].flat()];
  }
  // Fastify awaits async error handlers, although the type does not allow them.
  Object.assign(route, { errorHandler: rethrowAfterAuthentication });
  if (typeof access === "object") {
    // Fail closed: do not send the response of a handler that skipped the second check.
    const withAuthorization: onSendHookHandler = (request, reply, payload, done) =>
      whenDone(
        () => {
          if (reply.statusCode < 400) request.caller.assertAuthorized();
        },
        (error) => (error === null ? done(null, payload) : done(error)),
      );
    route.onSend = [withAuthorization, ...[route.onSend ?? []].flat()];
  }
  // Defer validation errors until after the second check of the credentials.
  route.attachValidation = true;
  const { handler } = route;
  route.handler = function guarded(request, reply) {
    // A new caller, because nothing of the first check counts after the body.
    const isSecondCheck = mayHaveBody && hasBody(request);
    if (isSecondCheck) gate.admit(request);
    const checked = isSecondCheck || !mayHaveBody ? gate.authenticate(request, true) : undefined;
    if (checked === undefined) return answer.call(this, request, reply);
    if (request.startedAt === UNTIMED) log.started(request);
    return checked.then(() => answer.call(this, request, reply));
  };
  const answer: RouteHandlerMethod = function answer(request, reply) {
    if (request.validationError !== undefined) throw request.validationError;
    gate.setSession(request);
    const charged = charge?.(request);
    if (charged === undefined) return handler.call(this, request, reply);
    return charged.then(() => handler.call(this, request, reply));
  };
}

/** Media types that browsers send without a preflight (WHATWG Fetch, "CORS-safelisted request-header"). */
const WITHOUT_PREFLIGHT = ["", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded"];

/**
 * Returns true if any page can send a body without a preflight. The header `X-Session-Id` forces a preflight.
 */
function mayComeFromAnyPage({ config }: RouteOptions, access: RouteAccess): boolean {
  return (
    appAccess(access).session !== "header" &&
    config?.mediaTypes?.some((type) => WITHOUT_PREFLIGHT.includes(type)) === true
  );
}

/** Throws the 401 of a deferred check in place of the error, because 401 takes precedence. */
async function rethrowAfterAuthentication(error: FastifyError, request: FastifyRequest): Promise<never> {
  await (request.caller as Caller | null)?.authenticateDeferred();
  throw error;
}

/** Checks requests of one route. */
class Gate {
  readonly #access: RouteAccess;
  readonly #app: AppAccess;
  readonly #parts: CallerParts;

  constructor(access: RouteAccess, parts: CallerParts) {
    this.#access = access;
    this.#app = appAccess(access);
    this.#parts = parts;
  }

  /** Attaches an unchecked caller to the request. */
  admit(request: FastifyRequest): void {
    const { keyHeader } = this.#app;
    const sent = credentialsOf(request.raw, { keyHeader, hasUsers: this.#parts.users.areUsed });
    const caller = new Caller(this.#parts, this.#app, sent);
    const session = sessionIn(this.#app, request);
    if (session !== null) caller.setSession(session, spellingIn(this.#app, request));
    request.caller = caller;
  }

  /** @throws ServiceError 401 */
  authenticate(request: FastifyRequest, isWhole: boolean): Promise<void> | undefined {
    const { caller } = request;
    if (this.#access === "token") caller.requireToken();
    if (typeof this.#access === "string") return undefined;
    return caller.authenticate({
      session: caller.namedSession,
      queryApp: appOfQuery(request),
      bodyApp: appOfBody(request),
      isWhole,
    });
  }

  /** @throws InvalidRequest if the session header is missing or malformed */
  setSession({ raw, caller, params, body }: FastifyRequest): void {
    switch (this.#app.session) {
      // `admit` has already read a valid header.
      case "header":
        if (caller.namedSession === null && (optionalSessionId(raw) !== null || !caller.isForOthers))
          requiredSessionId(raw);
        return;
      case "header?":
        if (caller.namedSession === null) optionalSessionId(raw);
        return;
      case "path":
      case "body": {
        const { session, sessionOf, bodyField = "id" } = this.#app;
        const fields = (session === "path" ? params : body) as Readonly<Record<string, string>>;
        const sent = fields[session === "path" ? "id" : bodyField] ?? "";
        const id = session === "path" && sessionOf !== undefined ? (sessionOf(sent) ?? sent) : sent;
        return caller.setSession(id.toLowerCase(), id);
      }
      case "none":
    }
  }
}

function spellingIn({ session, sessionOf }: AppAccess, { raw, params }: FastifyRequest): string | null {
  if (session !== "path") return textHeader(raw, SESSION_HEADER);
  const { id } = params as { readonly id: string };
  return sessionOf === undefined ? id : sessionOf(id);
}

function whenDone(check: () => Counted, done: (error: Error | null) => void): void {
  let checked: Counted;
  try {
    checked = check();
  } catch (error) {
    return done(error as Error);
  }
  if (checked === undefined) done(null);
  else void checked.then(() => done(null), done);
}

function hasBody({ raw: { headers } }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}
