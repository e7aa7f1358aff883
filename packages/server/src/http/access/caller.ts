// The caller of a request: its credentials and what they grant (interface specification, "Authentication";
// contract section 4). An open stream keeps its caller, so a caller must not hold the request.

import { appOfRule } from "@colloquy/engine/internal/core/action";
import type { Approver } from "@colloquy/engine/internal/core/commands/decide-action";
import {
  InvalidRequest,
  OtherApp,
  ServiceError,
  walletNotProved,
} from "@colloquy/engine/internal/core/errors";
import type {
  ListAccess,
  SessionsOf,
  SessionVersion,
} from "@colloquy/engine/internal/core/ports/driven/session-store";
import type { SearchedSessions } from "@colloquy/engine/internal/core/ports/driven/search-store";
import type { KeyGrant } from "@colloquy/engine/internal/core/ports/driving/credentials";
import type {
  Claimant,
  SessionOwnership,
  StreamAccess,
  StreamEnd,
} from "@colloquy/engine/internal/core/ports/driving/services";
import {
  ANONYMOUS,
  holdsAddress,
  type SessionAccess,
  type SessionUser,
} from "@colloquy/engine/internal/core/session-access";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import type { Services } from "../services.ts";
import type { AppRules } from "./app-rules.ts";
import { accepts, opens, type RequestUser, type SentCredentials } from "./credentials.ts";
import {
  appForbidden,
  notAnApprover,
  otherClient,
  reservedClient,
  scopeMissing,
  tokenRequired,
  unknownKey,
} from "./refusals.ts";
import type { AppAccess } from "./route-access.ts";

export interface CallerParts {
  readonly keys: Pick<Services["keys"], "check">;
  readonly users: Pick<Services["users"], "areUsed" | "check" | "ownerOf">;
  readonly rules: AppRules;
  readonly conversations: Pick<Services["conversations"], "appOf">;
}

/** Identifiers in a request that has not been validated yet. */
export interface Named {
  /** Session id; `null` if it is absent or malformed. */
  readonly session: string | null;
  /** Query parameter `app`. */
  readonly queryApp: string | undefined;
  /** Body field `app`, of any type; `undefined` if it is absent or the body has not been read. */
  readonly bodyApp: unknown;
  /** True once the body has been read. */
  readonly isWhole: boolean;
}

export class Caller {
  readonly #parts: CallerParts;
  readonly #rules: AppRules;
  readonly #access: AppAccess;
  readonly #sent: SentCredentials;
  #grant: KeyGrant | null = null;
  #user: RequestUser | null = null;
  #app: string = DEFAULT_APP;
  #version: SessionVersion | null = null;
  #deferredSession: string | null = null;
  #sessionId: string | null = null;
  #spelling: string | null = null;
  #isAuthorized = false;

  constructor(parts: CallerParts, access: AppAccess, sent: SentCredentials) {
    this.#parts = parts;
    this.#rules = parts.rules;
    this.#access = access;
    this.#sent = sent;
  }

  /** Session id of the request, in lower case. Throws an Error if the route has no session. */
  get sessionId(): string {
    if (this.#sessionId === null) throw new Error("The request names no session");
    return this.#sessionId;
  }

  /** Like `sessionId`, but `null` if the request has no session. */
  get namedSession(): string | null {
    return this.#sessionId;
  }

  /** Session id in the client's spelling, which may contain upper-case letters. */
  get spelling(): string {
    return this.#spelling ?? this.sessionId;
  }

  /** Called by the gate once the request is valid. `id` is in lower case. */
  setSession(id: string | null, spelling: string | null = id): void {
    this.#sessionId = id;
    this.#spelling = spelling;
  }

  /** True if the route may create a session. */
  get creates(): boolean {
    return this.#access.creates === true;
  }

  /** True if the request has a user's token but no session, on a route for approvers. */
  get isForOthers(): boolean {
    return this.#access.approves === true && this.#sessionId === null && this.#sent.token !== null;
  }

  /** App of the request's session; `default` if the session has not been read. */
  get app(): string {
    return this.#app;
  }

  /** The session as read from the store; `null` if it has not been read. */
  get version(): SessionVersion | null {
    return this.#version;
  }

  /** The App key as sent; `null` for none. */
  get key(): string | null {
    return this.#sent.key;
  }

  /** The user's token as sent, unverified; `null` for none, or if no App takes tokens. */
  get token(): string | null {
    return this.#sent.token;
  }

  /** Grant of the key; `null` before the check, and for a missing or invalid key. */
  get grant(): KeyGrant | null {
    return this.#grant;
  }

  /** The user; `null` for an anonymous caller and for an invalid token. */
  get user(): Exclude<RequestUser, ServiceError> | null {
    return this.#user instanceof ServiceError ? null : this.#user;
  }

  /**
   * Session whose App will be checked by the command's transaction; `null` if it has been read, or there is
   * none.
   */
  get deferredSession(): string | null {
    return this.#deferredSession;
  }

  /**
   * Throws an Error if the handler has authorized neither an App nor a session, and thus skipped the second
   * check.
   */
  assertAuthorized(): void {
    if (!this.#isAuthorized) throw new Error("The route answered without asking what its caller may use");
  }

  // First check, before the body is read and again afterwards: 401.

  /**
   * Checks the credentials that the route's App or session requires. Returns `undefined` if the check needs
   * no I/O.
   * @throws ServiceError 401
   */
  authenticate(named: Named): Promise<void> | undefined {
    if (this.#access.bearer === "known" && (this.#sent.bearer ?? null) !== null)
      return this.#requireKnownBearer().then(() => this.#authenticate(named));
    return this.#authenticate(named);
  }

  /** Throws the 401 for a bearer that is neither a valid key nor a valid token. */
  async #requireKnownBearer(): Promise<void> {
    const { key, token, bearer } = this.#sent;
    if (token !== null) {
      await this.#identify();
      if (this.#user instanceof ServiceError) throw this.#user;
      return;
    }
    if (key !== bearer) throw unknownKey();
    await this.#requireGrant(null);
  }

  #authenticate(named: Named): Promise<void> | undefined {
    const { app, session, streams, inTransaction } = this.#access;
    if (app === "opened" || this.isForOthers) return this.#requireForList();
    if (app === "body") {
      const apps = [named.queryApp, named.bodyApp].filter((name) => name !== undefined);
      // The unread body may still name an App.
      return this.#requireForApps(apps.length === 0 && named.isWhole ? [DEFAULT_APP] : apps);
    }
    if (app === "query") {
      if (session === "none") return this.#requireForApps([named.queryApp ?? DEFAULT_APP]);
      return this.#requireForAppOrSession(named);
    }
    // The session may be bound to another App while the stream is open.
    if (streams === true) return this.#checkKey().then(() => this.requireForSession(named.session));
    if (inTransaction !== true || !this.#isAnonymous()) return this.requireForSession(named.session);
    this.#deferredSession = named.session;
    return undefined;
  }

  /**
   * Performs the check deferred to `run` for a request that fails before `run` is called.
   * @throws ServiceError 401
   */
  async authenticateDeferred(): Promise<void> {
    await this.requireForSession(this.#deferredSession);
  }

  /**
   * Checks the token and key for an operation on a session, if the session's App requires them. Returns
   * `undefined` if the check needs no I/O.
   * @throws ServiceError 401
   */
  requireForSession(sessionId: string | null): Promise<void> | undefined {
    if (sessionId === null) return undefined;
    const identified = this.#identify();
    if (identified !== undefined) return identified.then(() => this.#requireForFound(sessionId));
    return this.#requireForFound(sessionId);
  }

  /** @throws ServiceError 401 if the request has no token */
  requireToken(): string {
    if (this.#sent.token === null) throw tokenRequired();
    return this.#sent.token;
  }

  // Second check, of a valid request: 403. Services require the `SessionAccess` that it returns.

  /**
   * Runs `work` with the session's App if it has been read, and otherwise with all Apps that need no
   * credentials. If `work` rejects with `OtherApp`, which implies no change, checks the session's actual App
   * and runs `work` again.
   * @throws ServiceError 401 or 403
   */
  async run<Answer>(work: (access: SessionAccess) => Promise<Answer>): Promise<Answer> {
    const isDeferred = this.#deferredSession !== null;
    this.#deferredSession = null;
    this.#isAuthorized = true;
    if (!isDeferred) this.authorizeSession(this.#app);
    try {
      const apps = isDeferred ? this.#appsWithoutCredentials() : [this.#app];
      return await work({ ...this.access(), apps });
    } catch (error) {
      if (!(error instanceof OtherApp)) throw error;
    }
    this.#grant = this.#user = null;
    await this.requireForSession(this.sessionId);
    this.authorizeSession(this.#app);
    return await work({ ...this.access(), apps: [this.#app] });
  }

  /** Returns the access to the session that was read. @throws ServiceError 401 or 403 */
  found(): SessionAccess {
    this.authorizeSession(this.#app);
    return this.access();
  }

  /**
   * Returns the client and the access of a request for an App. In the default App, anonymous callers are the
   * client that they name.
   * @throws ServiceError 401 or 403
   */
  in(app: string, clientId: string | null) {
    this.authorizeApp(app);
    return { clientId: this.clientOf(app, clientId), access: this.access(app) };
  }

  /** @throws ServiceError 401 or 403 unless the key or token opens the App, or the App is `default` */
  authorizeApp(app: string): void {
    this.#isAuthorized = true;
    const grant = this.#grant;
    this.#requireUser(app);
    if (app === DEFAULT_APP || opens(this.#user, app)) return;
    if (grant === null) throw this.#missing(app);
    if (!grant.apps.has(app)) throw appForbidden();
    this.#requireScope(grant);
  }

  /** Like `authorizeApp`, for a session of the App: requires the key only if the App does. */
  authorizeSession(app: string): void {
    this.#isAuthorized = true;
    if (app === DEFAULT_APP || this.#dependsOnKey(app)) this.authorizeApp(app);
    else this.#requireUser(app);
  }

  /**
   * Returns the client of a request in an App: the user if there is one, otherwise the named client.
   * @throws ServiceError 403 if it names a client other than its user, or, without a user, an id reserved for
   *   users
   */
  clientOf(app: string, named: string | null): string | null {
    const { user } = this;
    if (user === null || !accepts(user, app)) {
      if (named !== null && this.#rules.mayBeUser(named, app)) throw reservedClient();
      return named;
    }
    if (named !== null && named !== user.owner) throw otherClient();
    return user.owner;
  }

  /** Returns the access of the caller; `named` is the App that the request names. Check the App first. */
  access(named: string = DEFAULT_APP): SessionAccess {
    const provedApps = this.#rules.provedApps();
    return this.#user === null && provedApps.length === 0
      ? ANONYMOUS
      : { apps: null, user: this.#sessionUser(named), provedApps };
  }

  /**
   * Returns the access for a list: the default App and the Apps of the key and token. Omits Apps that require
   * a user other than the caller's, and Apps that require proof of the wallet.
   * @throws ServiceError 403 if the key lacks the scope, or if all of the Apps require proof of the wallet
   */
  list(wallet: string | null): ListAccess {
    const apps = [DEFAULT_APP, ...this.opened()].filter(
      (app) => !this.#rules.requiresUser(app) || accepts(this.#user, app),
    );
    const access = this.access();
    const shown = wallet === null ? apps : apps.filter((app) => holdsAddress(wallet, app, access));
    if (shown.length === 0 && apps.length > 0) throw walletNotProved();
    return { ...access, apps: shown };
  }

  /**
   * Returns the conversations that a search of the caller reads: those in the user's lists, else the session
   * that was read.
   * @throws ServiceError 401 or 403
   */
  async searched(): Promise<SearchedSessions> {
    const access = this.found();
    const { user } = access;
    if (user === null)
      return { kind: "session", id: this.sessionId, access: { ...access, apps: [this.#app] } };
    // A session of the default App needs no key, but the list has the Apps of the key.
    if (this.#sent.key !== null) await this.#requireGrant(null);
    return { kind: "user", access: { ...this.list(null), user } };
  }

  /**
   * Returns the Apps of the key and token, without the default App.
   * @throws ServiceError 403 if the key lacks the scope
   */
  opened(): readonly string[] {
    this.#isAuthorized = true;
    if (this.#grant !== null) this.#requireScope(this.#grant);
    return [...new Set([...(this.#grant?.apps ?? []), ...(this.user?.opens ?? [])])].filter(
      (app) => app !== DEFAULT_APP,
    );
  }

  /** Returns the only App of the key and token besides the default App; `null` for none or several. */
  onlyOpened(): string | null {
    const [only, ...others] = this.opened();
    return only === undefined || others.length > 0 ? null : only;
  }

  /**
   * Returns the sessions of the user in an App.
   * @throws ServiceError 401 or 403 if the App does not accept the caller as a user
   */
  sessionsOfUser(app: string): SessionsOf {
    const user = this.#user;
    if (user instanceof ServiceError) throw user;
    if (user === null || !accepts(user, app)) throw tokenRequired();
    this.authorizeApp(app);
    return { owner: user.owner, publicKey: null, app };
  }

  /**
   * Returns the user's approver rules, in all Apps or in one.
   * @throws ServiceError 403 if the user is not an approver
   */
  approver(app: string | null = null): Approver {
    this.#isAuthorized = true;
    const user = this.#user;
    if (user instanceof ServiceError) throw user;
    const { name = null, rules = [] } = user?.approver ?? {};
    const own = app === null ? rules : rules.filter((rule) => appOfRule(rule) === app);
    if (user === null || own.length === 0) throw notAnApprover();
    return { owner: user.owner, name, rules: own };
  }

  /**
   * Returns the user who claims the session that was read; `null` if its App does not accept the user or
   * permits no claims.
   * @throws ServiceError 401 for an anonymous request
   */
  claimant(): Claimant | null {
    const user = this.#user;
    if (user instanceof ServiceError) throw user;
    if (user === null) throw tokenRequired();
    return this.#rules.permitsClaims(this.#app) && accepts(user, this.#app) ? user : null;
  }

  // Repeated checks, for delayed responses (`Prefer: wait`) and open streams.

  /**
   * Repeats all checks for a delayed response: meanwhile the session may have been recreated, and the key or
   * token may have been revoked. `app` is the App that the request named, if any.
   * @throws ServiceError 401 or 403
   */
  async authorizeAgain(app: string = DEFAULT_APP): Promise<void> {
    const found = await this.#parts.conversations.appOf(this.sessionId);
    // Check last: if the session were read later, it could be a newer incarnation than the one in the
    // response.
    await this.#checkAgain();
    this.#app = typeof found === "string" ? found : found.app;
    this.authorizeApp(app);
    this.authorizeSession(this.#app);
  }

  /** Returns the checks of an event stream. Check the session's App first. */
  streamAccess(): StreamAccess {
    const { key, token } = this.#sent;
    const session = this.access();
    return {
      session,
      refresh: key === null && token === null ? null : () => this.#checkAgain(),
      endFor: (ownership) => this.#endFor(ownership, session.user !== null),
      checkedAt: ({ app }) => this.#checkedAt(app),
    };
  }

  /**
   * Checks all sent credentials, and replaces the results in one step, because an open stream reads them
   * concurrently.
   */
  async #checkAgain(): Promise<void> {
    const { key, token, owner } = this.#sent;
    const { keys, users } = this.#parts;
    const [grant, user] = await Promise.all([
      key === null ? null : keys.check(key),
      token === null ? null : users.check(token),
    ]);
    this.#user = user ?? this.#userOfKey(owner, grant);
    this.#grant = grant;
  }

  #endFor({ app, owner }: SessionOwnership, hadUser: boolean): StreamEnd | null {
    // A token that was never valid is ignored in an App without users.
    if (this.#user instanceof ServiceError && hadUser) return "user_token_expired";
    const isUser = accepts(this.#user, app);
    if (!opens(this.#user, app) && !this.#opensStream(app)) return "app_key_invalid";
    if (!isUser && this.#rules.requiresUser(app)) return "session_not_found";
    if (owner === null) return null;
    // A session without an App counts as the default App's.
    return this.user?.owner === owner && (isUser || app === DEFAULT_APP) ? null : "session_not_found";
  }

  /** Returns true if the App requires no key for streams, or if the sent key opens the App. */
  #opensStream(app: string): boolean {
    if (app === DEFAULT_APP) return true;
    if (this.#sent.key === null) return !this.#rules.requiresKey(app);
    return this.#grant?.apps.has(app) === true && this.#grant.scopes.has(this.#access.scope);
  }

  #checkedAt(app: string): number | null {
    const times = [app === DEFAULT_APP ? null : this.#grant?.checkedAt, this.user?.checkedAt];
    const known = times.filter((time) => time !== null && time !== undefined);
    return known.length === 0 ? null : Math.min(...known);
  }

  // Parts of the checks.

  #isAnonymous(): boolean {
    const { key, token, owner } = this.#sent;
    return key === null && token === null && owner === null;
  }

  #requireForFound(sessionId: string): Promise<void> | undefined {
    const app = this.#parts.conversations.appOf(sessionId);
    if (app instanceof Promise) {
      return app.then(({ app: name, version }) => {
        this.#version = version;
        return this.#requireForSessionOf(name);
      });
    }
    return this.#requireForSessionOf(app);
  }

  #requireForSessionOf(app: string): Promise<void> | undefined {
    this.#app = app;
    const isOpen = app === DEFAULT_APP || opens(this.#user, app) || !this.#dependsOnKey(app);
    if (!isOpen) return this.#requireGrant(app).then(() => this.#requireUser(app));
    this.#requireUser(app);
    return undefined;
  }

  /** Checks a request for the App in the query or, if there is none, for the session's App. */
  async #requireForAppOrSession({ queryApp, session }: Named): Promise<void> {
    await this.#checkKey();
    await this.#requireForApps(queryApp === undefined ? [] : [queryApp]);
    if (session === null) return;
    const found = await this.#parts.conversations.appOf(session);
    const app = typeof found === "string" ? found : found.app;
    this.#app = app;
    if (app === DEFAULT_APP || this.#grant !== null || opens(this.#user, app)) return;
    const changes = this.#access.scope !== "read";
    if ((changes && queryApp === undefined) || this.#dependsOnKey(app)) throw this.#missing(app);
  }

  #requireForApps(apps: readonly unknown[]): Promise<void> | undefined {
    const identified = this.#identify();
    if (identified === undefined) return this.#requireIdentified(apps);
    return identified.then(() => this.#requireIdentified(apps));
  }

  #requireIdentified(apps: readonly unknown[]): Promise<void> | undefined {
    const keyed = apps.filter((app) => app !== DEFAULT_APP && !opens(this.#user, app));
    const require = (): void => {
      for (const app of apps) this.#requireUser(app);
    };
    if (keyed.length > 0) return this.#requireGrant(keyed[0]).then(require);
    require();
    return undefined;
  }

  /** Checks a request without an App: a sent key or token must be valid. */
  async #requireForList(): Promise<void> {
    await this.#identify();
    if (this.#user instanceof ServiceError) throw this.#user;
    if (this.#sent.key !== null) await this.#requireGrant(null);
    else if (this.#user === null) this.#requireUser(DEFAULT_APP);
  }

  /** Checks the key, if one was sent. */
  async #checkKey(): Promise<void> {
    const { key } = this.#sent;
    if (this.#grant === null && key !== null) this.#grant = await this.#parts.keys.check(key);
  }

  async #requireGrant(app: unknown): Promise<void> {
    await this.#checkKey();
    if (this.#grant === null) throw this.#missing(app);
  }

  /** Identifies the user by a token or by a key that acts for users. Returns `undefined` if no I/O was needed. */
  #identify(): Promise<void> | undefined {
    if (this.#user !== null) return undefined;
    const { token, owner } = this.#sent;
    const ofToken = token === null ? null : this.#parts.users.check(token);
    if (ofToken instanceof Promise) return ofToken.then((user) => void (this.#user = user));
    this.#user = ofToken;
    if (ofToken !== null || owner === null) return undefined;
    return this.#requireGrant(null).then(() => {
      this.#user = this.#userOfKey(owner, this.#grant);
    });
  }

  /**
   * Returns the user on whose behalf the key acts; `null` without a key or the header.
   * @throws ServiceError 400 for a malformed header, 403 if the key lacks the scope
   */
  #userOfKey(header: string | null, grant: KeyGrant | null): RequestUser | null {
    if (header === null || grant === null) return null;
    const [, issuer, subject] = /^(\S+) (\S.*)$/.exec(header) ?? [];
    if (issuer === undefined || subject === undefined) {
      throw new InvalidRequest(
        "owner_invalid",
        "The header Colloquy-Owner must be the issuer of the user's tokens and their subject, with a space between.",
      );
    }
    if (!grant.scopes.has("act_as")) throw scopeMissing("act_as");
    const { apps, checkedAt } = grant;
    const owner = this.#parts.users.ownerOf(issuer, subject);
    return { owner, apps: [...apps], opens: [], wallets: [], checkedAt };
  }

  /**
   * @throws ServiceError 401 if the App takes tokens and this one is invalid, or if the App requires a user
   * and there is none
   */
  #requireUser(app: unknown): void {
    if (!this.#rules.takesTokens(app)) return;
    if (this.#user instanceof ServiceError) throw this.#user;
    if (this.#rules.requiresUser(app) && !accepts(this.#user, app)) throw tokenRequired();
  }

  /** Returns the 401 for an App that neither the key nor the token opens. */
  #missing(app: unknown): ServiceError {
    if (this.#user instanceof ServiceError) return this.#user;
    return this.#rules.hasUsers(app) ? tokenRequired() : unknownKey();
  }

  #requireScope({ scopes }: KeyGrant): void {
    if (!scopes.has(this.#access.scope)) throw scopeMissing(this.#access.scope);
  }

  /** Returns true if the key affects requests on a session of this App. */
  #dependsOnKey(app: string): boolean {
    return this.#access.needsKey === true || this.#sent.key !== null || this.#rules.requiresKey(app);
  }

  /** Returns the Apps whose sessions require neither a key nor a user. */
  #appsWithoutCredentials(): readonly string[] {
    return this.#rules
      .names()
      .filter((app) => app === DEFAULT_APP || !this.#dependsOnKey(app))
      .filter((app) => !this.#rules.requiresUser(app));
  }

  #sessionUser(named: string): SessionUser | null {
    const { user } = this;
    if (user === null) return null;
    const { owner, apps, wallets } = user;
    return { owner, apps, wallets, takesNew: apps.includes(named) };
  }
}
