// Authorizes requests for Apps (interface specification, "Authentication"; contract section 4). Because 401 precedes validation and 403
// follows (contract section 6), a hook authenticates before the body is read, and the route authorizes the valid request. Both checks
// repeat after a slow body or a delayed response, because a key may have been revoked, or the session bound to an App, in the meantime.

import type { FastifyContextConfig, FastifyError, FastifyRequest } from "fastify";
import { OtherApp, ServiceError, walletNotProved } from "../core/errors.ts";
import type { AppScope } from "../core/key-scopes.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { ListAccess, SessionsOf } from "../core/ports/driven/session-store.ts";
import type { KeyGrant } from "../core/ports/driving/credentials.ts";
import type { Claimant, StreamAccess } from "../core/ports/driving/services.ts";
import { ANONYMOUS, holdsAddress, type SessionAccess } from "../core/session-access.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { accessHooks, Authentication, type AuthenticationParts, clearAccess } from "./authentication.ts";
import { appForbidden, otherClient, reservedClient, scopeMissing } from "./key-refusals.ts";
import { appKey, appOfBody, appOfQuery, sessionOfHeader, sessionOfPath } from "./request.ts";
import { CheckedStream } from "./stream-access.ts";
import { accepts, opens, tokenRequired, type UserAccess } from "./user-access.ts";

export class AppGuard {
  readonly #authentication: Authentication;
  readonly #users: UserAccess;
  readonly #apps: AppCatalog;
  #proved: { readonly names: readonly string[] | null; readonly apps: readonly string[] } = {
    names: null,
    apps: [],
  };

  constructor(parts: AuthenticationParts) {
    this.#authentication = new Authentication(parts);
    this.#users = this.#authentication.users;
    this.#apps = parts.apps;
  }

  // Methods named `...Hooks` return Fastify route options, to be spread into a route. Hooks reject with 401; the `authorize` methods
  // throw 401 or 403.

  /** Returns hooks for the App in the query. They reject if the App requires a key or token and the request has no valid one. */
  queryHooks(scope: AppScope) {
    return accessHooks(scope, (request) =>
      this.#authentication.requireForApps(request, [appOfQuery(request) ?? DEFAULT_APP]),
    );
  }

  /** Like `queryHooks`; the body may name the App too. */
  queryOrBodyHooks(scope: AppScope) {
    return accessHooks(scope, (request, isWhole) => {
      const named = [appOfQuery(request), appOfBody(request)].filter((app) => app !== undefined);
      // A body that has not been read yet may name an App.
      if (named.length === 0 && isWhole) named.push(DEFAULT_APP);
      return this.#authentication.requireForApps(request, named);
    });
  }

  /** Returns hooks for lists over all Apps of a key or token. They reject an invalid key or token. */
  listHooks(scope: AppScope) {
    return accessHooks(scope, (request) => this.#authentication.requireForList(request));
  }

  /** Returns hooks for operations on the session in `X-Session-Id`. */
  sessionHooks(scope: AppScope) {
    return accessHooks(scope, (request) =>
      this.#authentication.requireForSession(request, sessionOfHeader(request)),
    );
  }

  /** Like `sessionHooks`, for event streams: the session may be bound to an App while the stream is open. */
  streamHooks(scope: AppScope) {
    return this.#streamHooks(scope, sessionOfHeader);
  }

  /** Like `streamHooks`, for the session in the path. */
  pathStreamHooks(scope: AppScope) {
    return inPath(this.#streamHooks(scope, sessionOfPath));
  }

  /** Returns hooks for operations on the token itself. They reject a request without one. */
  tokenHooks() {
    return accessHooks(null, async (request) => void this.requiredToken(request));
  }

  /** Returns the unverified token of the request; `null` if there is none, or if no App accepts tokens. */
  tokenOf(request: FastifyRequest): string | null {
    return this.#users.tokenOf(request);
  }

  /** @throws ServiceError 401 if the request has no token */
  requiredToken(request: FastifyRequest): string {
    const token = this.#users.tokenOf(request);
    if (token === null) throw tokenRequired();
    return token;
  }

  /**
   * Returns hooks for operations on models. The App is that of the query, else of the session, else the only one
   * that the key opens. With `changes`, the operation requires the App's key.
   */
  modelHooks({ changes }: { readonly changes: boolean }) {
    return accessHooks(changes ? "chat" : "read", (request) =>
      this.#authentication.requireForModels(request, changes),
    );
  }

  /**
   * Checks access to a session outside of a hook. Returns `undefined` if the check needs no read.
   * @throws ServiceError 401
   */
  requireForSession(request: FastifyRequest, sessionId: string): Promise<void> | undefined {
    return this.#authentication.requireForSession(request, sessionId);
  }

  /** Returns the session access of the request; `named` is the App that it names. Call an `authorize` method first. */
  sessionAccess(request: FastifyRequest, named: string = DEFAULT_APP): SessionAccess {
    const provedApps = this.#provedApps();
    return request.user === null && provedApps.length === 0
      ? ANONYMOUS
      : { apps: null, user: this.#users.sessionUser(request.user, named), provedApps };
  }

  /**
   * Returns the Apps whose sessions a list may show: the default App, and those of the key and the token. Omits Apps that require a user
   * and do not accept the request's, and Apps where the wallet needs proof.
   * @throws ServiceError 403 if the key lacks the operation's scope, or the wallet needs proof in all of the Apps
   */
  listAccess(request: FastifyRequest, wallet: string | null): ListAccess {
    const apps = [DEFAULT_APP, ...this.opened(request)].filter(
      (app) => this.#apps.get(app)?.users?.required !== true || accepts(request.user, app),
    );
    const access = this.sessionAccess(request);
    const shown = wallet === null ? apps : apps.filter((app) => holdsAddress(wallet, app, access));
    if (shown.length === 0 && apps.length > 0) throw walletNotProved();
    return { ...access, apps: shown };
  }

  /**
   * Returns the Apps of the request's key and token besides the default App; none before a hook has run.
   * @throws ServiceError 403 if the key lacks the operation's scope
   */
  opened(request: FastifyRequest): readonly string[] {
    const { keyGrant, user } = request;
    if (keyGrant !== null) requireScope(request, keyGrant);
    const ofUser = user === null || user instanceof ServiceError ? [] : user.opens;
    return [...new Set([...(keyGrant?.apps ?? []), ...ofUser])].filter((app) => app !== DEFAULT_APP);
  }

  /** Returns the one App that the key or token opens besides the default App; `null` for none or several. */
  onlyOpened(request: FastifyRequest): string | null {
    const [only, ...others] = this.opened(request);
    return only === undefined || others.length > 0 ? null : only;
  }

  /**
   * Authorizes a request for an App, and returns its client and access. The default App accepts anonymous requests as the client they
   * name.
   * @throws ServiceError 401 or 403, by `authorizeApp` or `clientOf`
   */
  authorizeCaller(request: FastifyRequest, app: string, named: string | null) {
    this.authorizeApp(request, app);
    return { clientId: this.clientOf(request, app, named), access: this.sessionAccess(request, app) };
  }

  /**
   * Returns the client of a request in an App: the user, or else the client that it names.
   * @throws ServiceError 403 if it names a client other than its user, or, without a user, an id reserved for users
   */
  clientOf(request: FastifyRequest, app: string, named: string | null): string | null {
    const { user } = request;
    if (user === null || user instanceof ServiceError || !accepts(user, app)) {
      if (named !== null && this.#users.mayBeUser(named, app)) throw reservedClient();
      return named;
    }
    if (named !== null && named !== user.owner) throw otherClient();
    return user.owner;
  }

  /**
   * Returns the sessions of the request's user in an App.
   * @throws ServiceError 401 or 403 if the request has no user whom the App accepts
   */
  userOf(request: FastifyRequest, app: string): SessionsOf {
    const { user } = request;
    if (user instanceof ServiceError) throw user;
    if (user === null || !accepts(user, app)) throw tokenRequired();
    this.authorizeApp(request, app);
    return { owner: user.owner, publicKey: null, app };
  }

  /**
   * Returns the user who claims the session that the hook read; `null` if its App does not accept the user or permits no claims.
   * @throws ServiceError 401 for an anonymous request
   */
  claimant(request: FastifyRequest): Claimant | null {
    const { user, sessionApp } = request;
    if (user instanceof ServiceError) throw user;
    if (user === null) throw tokenRequired();
    const permitted = this.#apps.get(sessionApp)?.users?.claimSessions === true;
    return permitted && accepts(user, sessionApp) ? user : null;
  }

  /** @throws ServiceError 401 or 403 unless the key or token opens the App, or the App is `default` */
  authorizeApp(request: FastifyRequest, app: string): void {
    const { keyGrant, user } = request;
    this.#users.require(user, app);
    if (app === DEFAULT_APP || opens(user, app)) return;
    if (keyGrant === null) throw this.#authentication.missing(user, app);
    if (!keyGrant.apps.has(app)) throw appForbidden();
    requireScope(request, keyGrant);
  }

  /** Like `authorizeApp` for a session of the App, which needs no key unless the App requires it. */
  authorizeSession(request: FastifyRequest, app: string): void {
    if (app === DEFAULT_APP || this.#authentication.dependsOnKey(request, app))
      this.authorizeApp(request, app);
    else this.#users.require(request.user, app);
  }

  /** Like `authorizeSession`, for the session that the hook read. */
  authorizeFoundSession(request: FastifyRequest): void {
    this.authorizeSession(request, request.sessionApp);
  }

  /**
   * Like `sessionHooks`, for operations under `runAuthorized`: the command's transaction checks the session's App, which saves a read for
   * requests without a key or token. A validation error still costs that read, because 401 precedes it.
   */
  sessionCommandHooks(scope: AppScope) {
    return this.#commandHooks(scope, sessionOfHeader);
  }

  /** Like `sessionCommandHooks`, for the session in the path. */
  pathCommandHooks(scope: AppScope) {
    return inPath(this.#commandHooks(scope, sessionOfPath));
  }

  /** Like `sessionCommandHooks`, for decisions, which need the key of the session's App regardless of `requireKey`. */
  decisionHooks(scope: AppScope) {
    return needingAppKey(this.sessionCommandHooks(scope));
  }

  /** Like `pathCommandHooks`, for operations that need the key of the session's App regardless of `requireKey`. */
  pathKeyHooks(scope: AppScope) {
    return needingAppKey(this.pathCommandHooks(scope));
  }

  #commandHooks(scope: AppScope, sessionOf: (request: FastifyRequest) => string | null) {
    const check = (request: FastifyRequest): Promise<void> | undefined => {
      const isAnonymous = this.#authentication.isAnonymous(request);
      request.deferredSession = isAnonymous ? sessionOf(request) : null;
      return isAnonymous ? undefined : this.#authentication.requireForSession(request, sessionOf(request));
    };
    /** Rethrows the error, or rejects with 401 instead if the session's App requires a key or a user. */
    const errorHandler = async (error: FastifyError, request: FastifyRequest): Promise<never> => {
      await this.#authentication.requireForSession(request, request.deferredSession);
      throw error;
    };
    return { ...accessHooks(scope, check), errorHandler };
  }

  /**
   * Runs `work` with the session's App if a hook has read it, or else with all Apps that require no credentials. If `work` rejects with
   * `OtherApp`, it has changed nothing: authorizes the session's actual App and runs `work` again.
   * @throws ServiceError 401 or 403
   */
  async runAuthorized<Answer>(
    request: FastifyRequest,
    sessionId: string,
    work: (access: SessionAccess) => Promise<Answer>,
  ): Promise<Answer> {
    const isDeferred = request.deferredSession !== null;
    request.deferredSession = null;
    if (!isDeferred) this.authorizeFoundSession(request);
    try {
      const apps = isDeferred ? this.#appsWithoutCredentials(request) : [request.sessionApp];
      return await work({ ...this.sessionAccess(request), apps });
    } catch (error) {
      if (!(error instanceof OtherApp)) throw error;
    }
    clearAccess(request);
    await this.#authentication.requireForSession(request, sessionId);
    this.authorizeFoundSession(request);
    return await work({ ...this.sessionAccess(request), apps: [request.sessionApp] });
  }

  /** Returns the Apps whose sessions need neither key nor user. */
  #appsWithoutCredentials(request: FastifyRequest): readonly string[] {
    return this.#apps
      .names()
      .filter((app) => app === DEFAULT_APP || !this.#authentication.dependsOnKey(request, app))
      .filter((app) => this.#apps.get(app)?.users?.required !== true);
  }

  /**
   * Repeats all checks for a delayed response (`Prefer: wait`): the session may be a new incarnation, and the key or token may no longer
   * be valid. `app` is the App that the request named, if any.
   * @throws ServiceError 401 or 403
   */
  async authorizeAgain(request: FastifyRequest, sessionId: string, app: string = DEFAULT_APP): Promise<void> {
    clearAccess(request);
    // Read the session first: after the key check it could be a newer incarnation than the one in the response.
    await this.#authentication.requireForSession(request, sessionId);
    await this.#authentication.requireForApps(request, [app]);
    this.authorizeApp(request, app);
    this.authorizeFoundSession(request);
  }

  /** Returns the access check of an event stream, whose key needs `scope`. */
  streamAccess(request: FastifyRequest, scope: AppScope = "read"): StreamAccess {
    return new CheckedStream({
      session: this.sessionAccess(request),
      apps: this.#apps,
      scope,
      hasKey: appKey(request.raw) !== null,
      credentials: { grant: request.keyGrant, user: request.user },
      check: this.#authentication.recheck(request),
    });
  }

  /** Returns the Apps where wallets need proof. */
  #provedApps(): readonly string[] {
    const names = this.#apps.names();
    // A reload replaces the list.
    if (names !== this.#proved.names) {
      const apps = names.filter((app) => this.#apps.get(app)?.wallets === "proved");
      this.#proved = { names, apps };
    }
    return this.#proved.apps;
  }

  #streamHooks(scope: AppScope, sessionOf: (request: FastifyRequest) => string | null) {
    return accessHooks(scope, async (request) => {
      await this.#authentication.checkKey(request);
      await this.#authentication.requireForSession(request, sessionOf(request));
    });
  }
}

function inPath<Hooks extends { readonly config: FastifyContextConfig }>(hooks: Hooks) {
  return { ...hooks, config: { ...hooks.config, hasSessionInPath: true } } as const;
}

/** Returns hooks of an operation that needs the key of the session's App regardless of `requireKey`. */
export function needingAppKey<Hooks extends { readonly config: FastifyContextConfig }>(hooks: Hooks) {
  return { ...hooks, config: { ...hooks.config, needsAppKey: true } } as const;
}

function requireScope({ routeOptions }: FastifyRequest, { scopes }: KeyGrant): void {
  const { scope = null } = routeOptions.config;
  if (scope === null || !scopes.has(scope)) throw scopeMissing(scope);
}
