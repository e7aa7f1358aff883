// The first of two access checks, before validation (contract section 6): verifies the key and token of a
// request, and responds with 401 if the requested App, or that of the session, requires one that is missing
// or invalid.

import type {
  FastifyContextConfig,
  FastifyRequest,
  preParsingHookHandler,
  preValidationHookHandler,
} from "fastify";
import { ServiceError } from "../core/errors.ts";
import type { AppScope } from "../core/key-scopes.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";
import type { AppKeys, KeyGrant, UserTokens } from "../core/ports/driving/credentials.ts";
import type { ConversationService } from "../core/ports/driving/services.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { unknownKey } from "./key-refusals.ts";
import { appKey, appOfQuery, sessionOfHeader } from "./request.ts";
import type { Credentials } from "./stream-access.ts";
import { opens, type RequestUser, tokenRequired, UserAccess } from "./user-access.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Apps that the request's key opens; `null` before the check, and for a missing or invalid key. */
    keyGrant: KeyGrant | null;
    /** The user of the request, or the 401 of an invalid token; `null` before the check and for an anonymous request. */
    user: RequestUser | null;
    /** The App of the request's session if access depends on it, or else `default`. */
    sessionApp: string;
    /** The session as found in the store; `null` if it was not looked up. */
    sessionSeen: SessionVersion | null;
    /**
     * Id of the session whose App the command's transaction checks (`runAuthorized`), instead of the hook;
     * `null` for none.
     */
    deferredSession: string | null;
  }
  interface FastifyContextConfig {
    /** True if a session of a non-default App needs that App's key regardless of `requireKey`. */
    needsAppKey?: true;
    /** Scope that a key needs for the operation. */
    scope?: AppScope;
    /** True if the path names the session, as `:id`. */
    hasSessionInPath?: true;
    /** True if admission counts the route's requests as `bodies` and not as `writes`; the handler counts them by caller. */
    skipsWriteBudget?: true;
    /** True if admission counts the route's reads as `writes`, because each stores something. */
    readsStore?: true;
  }
}

/** Initial values of the decorated properties. */
export const NO_ACCESS = {
  keyGrant: null,
  user: null,
  sessionApp: DEFAULT_APP,
  sessionSeen: null,
  deferredSession: null,
};

/** Clears the results of an earlier check. */
export function clearAccess(request: FastifyRequest): void {
  Object.assign(request, NO_ACCESS);
}

/**
 * Returns route options that check before the body is read and, if there is a body, again afterwards: only a
 * body can delay the second check (RFC 9112 section 6). `check` returns `undefined` if it needs no read.
 */
export function accessHooks(scope: AppScope | null, check: Check) {
  const preParsing: preParsingHookHandler = (request, _reply, payload, done) =>
    callDone(
      () => check(request, !hasBody(request)),
      (error) => done(error, payload),
    );
  const preValidation: preValidationHookHandler = (request, _reply, done) => {
    if (!hasBody(request)) return done();
    clearAccess(request);
    callDone(
      () => check(request, true),
      (error) => (error === null ? done() : done(error)),
    );
  };
  const config: FastifyContextConfig = scope === null ? {} : { scope };
  return { config, preParsing, preValidation };
}

/** Throws or rejects with a 401. `isWhole` is false before the body is read. */
type Check = (request: FastifyRequest, isWhole: boolean) => Promise<void> | undefined;

function callDone(check: () => Promise<void> | undefined, done: (error: Error | null) => void): void {
  let checked: Promise<void> | undefined;
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

export interface AuthenticationParts {
  readonly keys: AppKeys;
  readonly users: UserTokens;
  readonly apps: AppCatalog;
  readonly conversations: Pick<ConversationService, "appOf">;
}

export class Authentication {
  readonly users: UserAccess;
  readonly #keys: AppKeys;
  readonly #apps: AppCatalog;
  readonly #conversations: AuthenticationParts["conversations"];

  constructor({ keys, users, apps, conversations }: AuthenticationParts) {
    this.users = new UserAccess({ users, apps });
    this.#keys = keys;
    this.#apps = apps;
    this.#conversations = conversations;
  }

  /** True if the request sends neither a key nor a token. */
  isAnonymous(request: FastifyRequest): boolean {
    return appKey(request.raw) === null && !this.users.isNamed(request);
  }

  /**
   * Checks the request's token and key for an operation on a session. The App of the session determines
   * whether one is required. Returns `undefined` if the check needs no read.
   * @throws ServiceError 401
   */
  requireForSession(request: FastifyRequest, sessionId: string | null): Promise<void> | undefined {
    if (sessionId === null) return undefined;
    const identified = this.#identify(request);
    if (identified !== undefined) return identified.then(() => this.#requireForFound(request, sessionId));
    return this.#requireForFound(request, sessionId);
  }

  #requireForFound(request: FastifyRequest, sessionId: string): Promise<void> | undefined {
    const app = this.#conversations.appOf(sessionId);
    if (app instanceof Promise) {
      return app.then(({ app: name, seen }) => {
        request.sessionSeen = seen;
        return this.#requireForSessionOf(request, name);
      });
    }
    return this.#requireForSessionOf(request, app);
  }

  /**
   * Checks a request for the models of the App in the query, or else the session's. With `changes`, the
   * operation requires the App's key.
   * @throws ServiceError 401
   */
  async requireForModels(request: FastifyRequest, changes: boolean): Promise<void> {
    await this.checkKey(request);
    const named = appOfQuery(request);
    const session = sessionOfHeader(request);
    await this.requireForApps(request, named === undefined ? [] : [named]);
    if (session === null) return;
    const found = await this.#conversations.appOf(session);
    const app = typeof found === "string" ? found : found.app;
    request.sessionApp = app;
    if (app === DEFAULT_APP || request.keyGrant !== null || opens(request.user, app)) return;
    if ((changes && named === undefined) || this.dependsOnKey(request, app))
      throw this.missing(request.user, app);
  }

  /**
   * Checks the token and the key of a request that names Apps. Unknown Apps behave like Apps without users,
   * so that callers without a key cannot find out which Apps exist.
   * @throws ServiceError 401
   */
  requireForApps(request: FastifyRequest, apps: readonly unknown[]): Promise<void> | undefined {
    const identified = this.#identify(request);
    if (identified === undefined) return this.#requireIdentified(request, apps);
    return identified.then(() => this.#requireIdentified(request, apps));
  }

  /**
   * Checks a request that names no App: a key or a token that was sent must be valid.
   * @throws ServiceError 401
   */
  async requireForList(request: FastifyRequest): Promise<void> {
    await this.#identify(request);
    if (request.user instanceof ServiceError) throw request.user;
    if (appKey(request.raw) !== null) await this.#requireGrant(request, null);
    else if (request.user === null) this.users.require(null, DEFAULT_APP);
  }

  /** Checks the key, if one was sent. */
  async checkKey(request: FastifyRequest): Promise<void> {
    const key = appKey(request.raw);
    if (request.keyGrant === null && key !== null) request.keyGrant = await this.#keys.check(key);
  }

  /** Returns the 401 for an App that neither the key nor the token of the request opens. */
  missing(user: RequestUser | null, app: unknown): ServiceError {
    if (user instanceof ServiceError) return user;
    return this.users.hasUsers(app) ? tokenRequired() : unknownKey();
  }

  /** Returns true if the key affects requests on a session of this App. */
  dependsOnKey(request: FastifyRequest, app: string): boolean {
    const { needsAppKey = false } = request.routeOptions.config;
    return needsAppKey || appKey(request.raw) !== null || this.#requiresKey(app);
  }

  /** Returns a function that checks the stream's key and token again; `null` if its request sent neither. */
  recheck(request: FastifyRequest): (() => Promise<Credentials>) | null {
    const key = appKey(request.raw);
    const token = this.users.tokenOf(request);
    const owner = this.users.ownerHeader(request);
    if (key === null && token === null) return null;
    return async () => {
      const [grant, user] = await Promise.all([
        key === null ? null : this.#keys.check(key),
        this.users.ofToken(token),
      ]);
      return { grant, user: user ?? this.users.ofKey(owner, grant) };
    };
  }

  #requireIdentified(request: FastifyRequest, apps: readonly unknown[]): Promise<void> | undefined {
    const keyed = apps.filter((app) => app !== DEFAULT_APP && !opens(request.user, app));
    const require = (): void => {
      for (const app of apps) this.users.require(request.user, app);
    };
    if (keyed.length > 0) return this.#requireGrant(request, keyed[0]).then(require);
    require();
    return undefined;
  }

  #requireForSessionOf(request: FastifyRequest, app: string): Promise<void> | undefined {
    request.sessionApp = app;
    const isOpen = app === DEFAULT_APP || opens(request.user, app) || !this.dependsOnKey(request, app);
    if (!isOpen) return this.#requireGrant(request, app).then(() => this.users.require(request.user, app));
    this.users.require(request.user, app);
    return undefined;
  }

  async #requireGrant(request: FastifyRequest, app: unknown): Promise<void> {
    await this.checkKey(request);
    if (request.keyGrant === null) throw this.missing(request.user, app);
  }

  /** Identifies the user by a token or an acting key. Returns `undefined` if no I/O was needed. */
  #identify(request: FastifyRequest): Promise<void> | undefined {
    if (request.user !== null) return undefined;
    const ofToken = this.users.ofToken(this.users.tokenOf(request));
    if (ofToken instanceof Promise) return ofToken.then((user) => void (request.user = user));
    request.user = ofToken;
    const owner = this.users.ownerHeader(request);
    if (ofToken !== null || owner === null) return undefined;
    return this.#requireGrant(request, null).then(() => {
      request.user = this.users.ofKey(owner, request.keyGrant);
    });
  }

  /** Sessions of a removed App are inaccessible, because its `requireKey` is unknown. */
  #requiresKey(app: string): boolean {
    if (app === DEFAULT_APP) return false;
    const settings = this.#apps.get(app);
    return settings === null || settings.requireKey === "all";
  }
}
