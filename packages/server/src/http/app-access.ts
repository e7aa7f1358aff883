// Decides which App a request may use (interface specification, "Authentication"; contract section 4), in two steps, because 401 precedes
// validation and 403 follows it (contract section 6): a hook checks the key before the body is read, and the route checks access once the
// request is valid. Both repeat after a slow body or a delayed response, because keys end and sessions are bound to Apps.

import type { FastifyError, FastifyRequest, preParsingHookHandler, preValidationHookHandler } from "fastify";
import { parseSessionId } from "@colloquy/protocol";
import { OtherApp } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import type { AppKeys, KeyGrant } from "../core/ports/driving/key-service.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";
import type { ConversationService, StreamAccess } from "../core/ports/driving/services.ts";
import type { AppScope } from "../core/key-scopes.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { appForbidden, scopeMissing, unknownKey } from "./key-refusals.ts";
import { KeyedStream } from "./keyed-stream.ts";
import { appKey, type Query, SESSION_HEADER } from "./request.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Apps that the request's key opens; `null` before the check, and for a missing or invalid key. */
    keyGrant: KeyGrant | null;
    /** The App of the request's session if access depends on it, or else `default`. */
    sessionApp: string;
    /** The session as found in the store; `null` if it was not looked up. */
    sessionSeen: SessionVersion | null;
    /** Id of a session whose App is still to be checked by the command's transaction; `null` for none. */
    unseenSession: string | null;
  }
  interface FastifyContextConfig {
    /** True if a session of a non-default App needs that App's key regardless of `requireKey`. */
    needsAppKey?: true;
    /** What a key needs to be used for the operation in an App that it opens. */
    scope?: AppScope;
  }
}

/** Initial values of the decorated properties. */
export const NO_ACCESS = { keyGrant: null, sessionApp: DEFAULT_APP, sessionSeen: null, unseenSession: null };

interface AppAccessParts {
  readonly keys: AppKeys;
  readonly apps: AppCatalog;
  readonly conversations: Pick<ConversationService, "appOf">;
}

export class AppAccess {
  readonly #keys: AppKeys;
  readonly #apps: AppCatalog;
  readonly #conversations: AppAccessParts["conversations"];

  constructor({ keys, apps, conversations }: AppAccessParts) {
    this.#keys = keys;
    this.#apps = apps;
    this.#conversations = conversations;
  }

  // The hooks are Fastify route options, to be spread into a route. They reject with 401; the `authorize` methods also with 403.

  /** Hooks of operations on the App in the query: 401 unless it is the default App or the key is valid. */
  queryHooks(scope: AppScope) {
    return hooks(scope, (request) => this.#requireKeyFor(request, appOfQuery(request)));
  }

  /** Like `queryHooks`; the body may name the App too. */
  queryOrBodyHooks(scope: AppScope) {
    return hooks(
      scope,
      (request) =>
        this.#requireKeyFor(request, appOfQuery(request)) ?? this.#requireKeyFor(request, appOfBody(request)),
    );
  }

  /** Hooks of operations that list the Apps of a key: 401 for an invalid key. */
  keyHooks(scope: AppScope) {
    return hooks(scope, (request) =>
      appKey(request.raw) === null ? undefined : this.#requireGrant(request),
    );
  }

  /** Hooks of operations on the session in `X-Session-Id`. */
  sessionHooks(scope: AppScope) {
    return hooks(scope, (request) => this.requireKeyForSession(request, sessionOfHeader(request)));
  }

  /** Like `sessionHooks`, for event streams: the session may be bound to an App while they are open. */
  streamHooks(scope: AppScope) {
    return hooks(scope, async (request) => {
      await this.#checkKey(request);
      await this.requireKeyForSession(request, sessionOfHeader(request));
    });
  }

  /**
   * Like `sessionHooks`, for operations under `runAuthorized`: the command's transaction checks the session's App, which saves a read for
   * requests without a key. A validation error still costs that read, because 401 precedes it.
   */
  sessionCommandHooks(scope: AppScope) {
    return this.#commandHooks(scope, sessionOfHeader);
  }

  /** Like `sessionCommandHooks`, for the session in the path. */
  pathCommandHooks(scope: AppScope) {
    return this.#commandHooks(scope, sessionOfPath);
  }

  /** Like `sessionCommandHooks`, for decisions, which need the key of the session's App regardless of `requireKey`. */
  decisionHooks(scope: AppScope) {
    return { ...this.sessionCommandHooks(scope), config: { scope, needsAppKey: true } } as const;
  }

  /**
   * Hooks of operations on an App's models: the App in the query, or else the session's, or else the only App of the key. `changes` is true
   * if the operation always needs the App's key.
   */
  modelHooks({ changes }: { readonly changes: boolean }) {
    return hooks(changes ? "chat" : "read", (request) => this.#requireForModels(request, changes));
  }

  /**
   * Checks the request's key for an operation on a session, unless the session belongs to the default App. A key is required if the App
   * says so. Returns without a promise if nothing needs checking.
   * @throws ServiceError 401
   */
  requireKeyForSession(request: FastifyRequest, sessionId: string | null): Promise<void> | undefined {
    if (sessionId === null) return undefined;
    const app = this.#conversations.appOf(sessionId);
    if (app instanceof Promise) {
      return app.then(({ app: name, seen }) => {
        request.sessionSeen = seen;
        return this.#requireForSession(request, name);
      });
    }
    return this.#requireForSession(request, app);
  }

  /**
   * Returns the Apps of the request's key besides the default App; none before a hook has run.
   * @throws ServiceError 403 if the key lacks the operation's scope
   */
  opened(request: FastifyRequest): readonly string[] {
    if (request.keyGrant !== null) requireScope(request, request.keyGrant);
    return [...(request.keyGrant?.apps ?? [])];
  }

  /** Returns the one App that the key opens besides the default App; `null` for none or several. */
  onlyOpened(request: FastifyRequest): string | null {
    const [only, ...others] = this.opened(request);
    return only === undefined || others.length > 0 ? null : only;
  }

  /** @throws ServiceError 401 or 403 unless the key opens the App or it is the default App */
  authorizeApp(request: FastifyRequest, app: string): void {
    if (app === DEFAULT_APP) return;
    if (request.keyGrant === null) throw unknownKey();
    if (!request.keyGrant.apps.has(app)) throw appForbidden();
    requireScope(request, request.keyGrant);
  }

  /** Like `authorizeApp` for a session of the App, which needs no key unless the App requires it. */
  authorizeSession(request: FastifyRequest, app: string): void {
    if (app !== DEFAULT_APP && this.#dependsOnKey(request, app)) this.authorizeApp(request, app);
  }

  /** Like `authorizeSession`, for the session that the hook read. */
  authorizeFoundSession(request: FastifyRequest): void {
    this.authorizeSession(request, request.sessionApp);
  }

  /**
   * Runs `work` with the Apps that the request may use: the one that a hook found, or else all that require no key. If the session belongs
   * to another App (`work` then rejects with `OtherApp` and changes nothing), checks access to that App.
   * @throws ServiceError 401 or 403
   */
  async runAuthorized<Answer>(
    request: FastifyRequest,
    sessionId: string,
    work: (apps: readonly string[]) => Promise<Answer>,
  ): Promise<Answer> {
    const isUnseen = request.unseenSession !== null;
    request.unseenSession = null;
    if (!isUnseen) this.authorizeFoundSession(request);
    try {
      return await work(isUnseen ? this.#withoutKey(request) : [request.sessionApp]);
    } catch (error) {
      if (!(error instanceof OtherApp)) throw error;
    }
    clearAccess(request);
    await this.requireKeyForSession(request, sessionId);
    this.authorizeFoundSession(request);
    return await work([request.sessionApp]);
  }

  /**
   * Repeats all checks for a delayed response (`Prefer: wait`): the session may be another incarnation, and
   * the key may have ended. `app` is the App that the request named, if any.
   * @throws ServiceError 401 or 403
   */
  async authorizeAgain(request: FastifyRequest, sessionId: string, app: string = DEFAULT_APP): Promise<void> {
    clearAccess(request);
    // Read the session first: after the key check it could be a newer incarnation than the one in the response.
    await this.requireKeyForSession(request, sessionId);
    await this.#requireKeyFor(request, app);
    this.authorizeApp(request, app);
    this.authorizeFoundSession(request);
  }

  /** Access of an event stream, kept while it is open. */
  streamAccess(request: FastifyRequest): StreamAccess {
    const key = appKey(request.raw);
    if (key === null) return { opens: (app) => !this.#requiresKey(app), refresh: null, askedAt: () => null };
    return new KeyedStream(this.#keys, key, request.keyGrant);
  }

  #commandHooks(scope: AppScope, sessionOf: (request: FastifyRequest) => string | null) {
    const check = (request: FastifyRequest): Promise<void> | undefined => {
      const hasKey = appKey(request.raw) !== null;
      request.unseenSession = hasKey ? null : sessionOf(request);
      return hasKey ? this.requireKeyForSession(request, sessionOf(request)) : undefined;
    };
    /** Rethrows a refusal, unless the session's App requires a key: 401 precedes the refusal. */
    const errorHandler = async (error: FastifyError, request: FastifyRequest): Promise<never> => {
      await this.requireKeyForSession(request, request.unseenSession);
      throw error;
    };
    return { ...hooks(scope, check), errorHandler };
  }

  /** Returns the Apps whose sessions need no key. */
  #withoutKey(request: FastifyRequest): readonly string[] {
    return this.#apps.names().filter((app) => app === DEFAULT_APP || !this.#dependsOnKey(request, app));
  }

  async #requireForModels(request: FastifyRequest, changes: boolean): Promise<void> {
    await this.#checkKey(request);
    const named = appOfQuery(request);
    const session = sessionOfHeader(request);
    if (named !== undefined && named !== DEFAULT_APP && request.keyGrant === null) throw unknownKey();
    if (session === null) return;
    const found = await this.#conversations.appOf(session);
    request.sessionApp = typeof found === "string" ? found : found.app;
    if (request.sessionApp === DEFAULT_APP || request.keyGrant !== null) return;
    if ((changes && named === undefined) || this.#dependsOnKey(request, request.sessionApp))
      throw unknownKey();
  }

  /**
   * Checks the key of a request that names another App than the default one. Existing and unknown Apps behave alike, so that callers
   * without a key learn nothing.
   * @throws ServiceError 401
   */
  #requireKeyFor(request: FastifyRequest, app: unknown): Promise<void> | undefined {
    return app === undefined || app === DEFAULT_APP ? undefined : this.#requireGrant(request);
  }

  #requireForSession(request: FastifyRequest, app: string): Promise<void> | undefined {
    request.sessionApp = app;
    return app !== DEFAULT_APP && this.#dependsOnKey(request, app) ? this.#requireGrant(request) : undefined;
  }

  async #requireGrant(request: FastifyRequest): Promise<void> {
    await this.#checkKey(request);
    if (request.keyGrant === null) throw unknownKey();
  }

  async #checkKey(request: FastifyRequest): Promise<void> {
    const key = appKey(request.raw);
    if (request.keyGrant === null && key !== null) request.keyGrant = await this.#keys.check(key);
  }

  /** Returns true if the key affects requests on a session of this App. */
  #dependsOnKey(request: FastifyRequest, app: string): boolean {
    const { needsAppKey = false } = request.routeOptions.config;
    return needsAppKey || appKey(request.raw) !== null || this.#requiresKey(app);
  }

  /** Sessions of a removed App are closed, because the App's `requireKey` is unknown. */
  #requiresKey(app: string): boolean {
    if (app === DEFAULT_APP) return false;
    const settings = this.#apps.get(app);
    return settings === null || settings.requireKey === "all";
  }
}

/**
 * Returns route options that check before the body is read and, if there is a body, again afterwards: only a body can delay the second
 * check (RFC 9112 section 6). `check` rejects with a 401, and returns no promise if nothing needs checking.
 */
function hooks(scope: AppScope, check: (request: FastifyRequest) => Promise<void> | undefined) {
  const preParsing: preParsingHookHandler = (request, _reply, payload, done) =>
    callDone(check(request), (error) => done(error, payload));
  const preValidation: preValidationHookHandler = (request, _reply, done) => {
    if (!hasBody(request)) return done();
    clearAccess(request);
    callDone(check(request), (error) => (error === null ? done() : done(error)));
  };
  return { config: { scope }, preParsing, preValidation };
}

function callDone(checked: Promise<void> | undefined, done: (error: Error | null) => void): void {
  if (checked === undefined) done(null);
  else void checked.then(() => done(null), done);
}

function hasBody({ raw: { headers } }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** Clears the results of an earlier check. */
function clearAccess(request: FastifyRequest): void {
  Object.assign(request, NO_ACCESS);
}

/** Returns the App only if it is a string; validation reports other values later. */
function appOfQuery(request: FastifyRequest): string | undefined {
  const named = (request.query as Query)["app"];
  return typeof named === "string" && named !== "" ? named : undefined;
}

/** `undefined` before the body was read. */
function appOfBody({ body }: FastifyRequest): unknown {
  const named = isJsonObject(body) ? body["app"] : undefined;
  return named === null || named === "" || typeof named === "object" ? undefined : named;
}

export function sessionOfHeader({ raw }: FastifyRequest): string | null {
  const sent = raw.headers[SESSION_HEADER];
  return typeof sent === "string" ? parseSessionId(sent) : null;
}

export function sessionOfPath(request: FastifyRequest): string | null {
  const { id } = request.params as { readonly id?: unknown };
  return typeof id === "string" ? parseSessionId(id) : null;
}

function requireScope({ routeOptions }: FastifyRequest, { scopes }: KeyGrant): void {
  const { scope = null } = routeOptions.config;
  if (scope === null || !scopes.has(scope)) throw scopeMissing(scope);
}
