// Who may use which App (interface specification, "Authentication"; contract section 4): the one place that decides it for requests.
// It does so in two steps, because 401 goes before what is wrong with a request and 403 after it (contract section 6): a hook finds out,
// before the body is read, what the key opens; and the route asks when it knows that the request is right. What takes time in between, the
// client's sending of a body or an answer that waits, is followed by the same question again: keys end, and sessions come to Apps.

import type { FastifyRequest } from "fastify";
import { parseSessionId } from "@colloquy/protocol";
import { OtherApp, ServiceError } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import type { AppKeys, KeyGrant } from "../core/ports/driving/key-service.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { ConversationService, StreamAccess } from "../core/ports/driving/services.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { type AccessHooks, type AccessHooksAtWork, forget, hooks, refusedBehind } from "./access-hooks.ts";
import { appKey, SESSION_HEADER } from "./headers.ts";
import type { Query } from "./query.ts";

export interface AppAccessParts {
  readonly keys: AppKeys;
  readonly apps: AppCatalog;
  readonly conversations: Pick<ConversationService, "appOf">;
}

export class AppAccess {
  readonly #keys: AppKeys;
  readonly #apps: AppCatalog;
  readonly #conversations: Pick<ConversationService, "appOf">;

  constructor({ keys, apps, conversations }: AppAccessParts) {
    this.#keys = keys;
    this.#apps = apps;
    this.#conversations = conversations;
  }

  /** Hooks of operations on the App that the query names: 401 unless it is the default one or the key is good. */
  readonly ofQuery = hooks((request) => this.#requireKeyFor(request, appOfQuery(request)));

  /** As `ofQuery`, of an operation whose App the body may name too. */
  readonly ofQueryOrBody = hooks(
    (request) =>
      this.#requireKeyFor(request, appOfQuery(request)) ?? this.#requireKeyFor(request, appOfBody(request)),
  );

  /** Hooks of operations that answer what a key opens: 401 when one is sent that is not good. */
  readonly ofKey = hooks((request) =>
    appKey(request.raw) === null ? undefined : this.#requireGrant(request),
  );

  /** Hooks of operations on the session that `X-Session-Id` names. */
  readonly ofSession = hooks((request) => this.requireKeyForSession(request, sessionOfHeader(request)));

  /** As `ofSession`, for an operation that outlives its answer: the session may come to an App while it lasts. */
  readonly ofOpenSession = hooks(async (request) => {
    await this.#look(request);
    await this.requireKeyForSession(request, sessionOfHeader(request));
  });

  /**
   * As `ofSession`, of operations that are done `underItsApp`. Whose session it is the store finds out when it does the work, so that who sends
   * no key does not wait for a look of its own; only what is wrong with the request is said behind that look, because 401 goes before it.
   */
  readonly ofSessionAtWork = this.#atWork(sessionOfHeader);
  /** As `ofSessionAtWork`, on the session that the path names. */
  readonly ofPathAtWork = this.#atWork(sessionOfPath);
  /** As `ofSessionAtWork`, of decisions: they need the key of the session's App, whatever the App says. */
  readonly ofDecision = { ...this.ofSessionAtWork, config: { needsAppKey: true } } as const;

  /**
   * Hooks of operations on the models of an App: the one that the query names, else that of the session in `X-Session-Id`, else the one that a
   * sent key opens. `changes` where the operation needs the App's key whatever the App says.
   */
  ofModels({ changes }: { readonly changes: boolean }): AccessHooks {
    return hooks((request) => this.#requireForModels(request, changes));
  }

  /**
   * Finds out what the request's key opens for an operation on a session: a key that is sent is checked unless the session is the default
   * App's, and one must be sent where the App says so. Answers at once, without a promise, where nothing can be wrong.
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

  /** What the request's key opens beside the default App; nothing before a hook has looked. */
  opened(request: FastifyRequest): readonly string[] {
    return [...(request.keyGrant?.apps ?? [])];
  }

  /** The one App that the request's key opens beside the default one; `null` when it opens none or several. */
  onlyOpened(request: FastifyRequest): string | null {
    const [only, ...others] = this.opened(request);
    return only === undefined || others.length > 0 ? null : only;
  }

  /** @throws ServiceError 401 or 403 unless the request's key opens the App, or it is the default one */
  mustOpen(request: FastifyRequest, app: string): void {
    if (app === DEFAULT_APP) return;
    if (request.keyGrant === null) throw unknownKey();
    if (!request.keyGrant.apps.has(app)) throw appForbidden();
  }

  /** As `mustOpen`, of an operation on a session of the App: for which no key need be sent, unless the App says so. */
  mayUseSession(request: FastifyRequest, app: string): void {
    if (app !== DEFAULT_APP && this.#matters(request, app)) this.mustOpen(request, app);
  }

  /** `mayUseSession` for the session that the hook has seen. */
  mayUseItsSession(request: FastifyRequest): void {
    this.mayUseSession(request, request.sessionApp);
  }

  /**
   * Does what the request asks of a session under the Apps that it may use: the one that a hook has seen, else all that ask for no key. Where
   * the session counts as another one (which `work` rejects with an OtherApp for, having done nothing) access is decided for that one.
   * @throws ServiceError 401 or 403
   */
  async underItsApp<Answer>(
    request: FastifyRequest,
    sessionId: string,
    work: (apps: readonly string[]) => Promise<Answer>,
  ): Promise<Answer> {
    const isUnseen = request.unseenSession !== null;
    request.unseenSession = null;
    if (!isUnseen) this.mayUseItsSession(request);
    try {
      return await work(isUnseen ? this.#withoutKey(request) : [request.sessionApp]);
    } catch (error) {
      if (!(error instanceof OtherApp)) throw error;
    }
    forget(request);
    await this.requireKeyForSession(request, sessionId);
    this.mayUseItsSession(request);
    return await work([request.sessionApp]);
  }

  /**
   * Everything once more, for an answer that has waited (`Prefer: wait`): it may come from another life of the session, and the key may have
   * ended. `app` is the one that the request named, where it did.
   * @throws ServiceError 401 or 403
   */
  async mayStillUse(request: FastifyRequest, sessionId: string, app: string = DEFAULT_APP): Promise<void> {
    forget(request);
    // The session goes first, at once: after the key it may be another one than the one that the answer shows.
    await this.requireKeyForSession(request, sessionId);
    await this.#requireKeyFor(request, app);
    this.mustOpen(request, app);
    this.mayUseItsSession(request);
  }

  /** Who an event stream is for, kept as long as it is open. */
  ofStream(request: FastifyRequest): StreamAccess {
    const key = appKey(request.raw);
    if (key === null) return { opens: (app) => !this.#requiresKey(app), refresh: null, askedAt: () => null };
    return new KeyedStream(this.#keys, key, request.keyGrant);
  }

  #atWork(sessionOf: (request: FastifyRequest) => string | null): AccessHooksAtWork {
    const check = (request: FastifyRequest): Promise<void> | undefined => {
      const hasKey = appKey(request.raw) !== null;
      request.unseenSession = hasKey ? null : sessionOf(request);
      return hasKey ? this.requireKeyForSession(request, sessionOf(request)) : undefined;
    };
    const look = (request: FastifyRequest) => this.requireKeyForSession(request, request.unseenSession);
    return { ...hooks(check), errorHandler: refusedBehind(look) };
  }

  /** The Apps whose sessions the request may use without a key. */
  #withoutKey(request: FastifyRequest): readonly string[] {
    return this.#apps.names().filter((app) => app === DEFAULT_APP || !this.#matters(request, app));
  }

  async #requireForModels(request: FastifyRequest, changes: boolean): Promise<void> {
    await this.#look(request);
    const named = appOfQuery(request);
    const session = sessionOfHeader(request);
    if (named !== undefined && named !== DEFAULT_APP && request.keyGrant === null) throw unknownKey();
    if (session === null) return;
    const found = await this.#conversations.appOf(session);
    request.sessionApp = typeof found === "string" ? found : found.app;
    if (request.sessionApp === DEFAULT_APP || request.keyGrant !== null) return;
    if ((changes && named === undefined) || this.#matters(request, request.sessionApp)) throw unknownKey();
  }

  /**
   * Finds out what the request's key opens, where it names another App than the default one. The same for Apps that exist and those that
   * do not: who has no key learns nothing of them.
   * @throws ServiceError 401
   */
  #requireKeyFor(request: FastifyRequest, app: unknown): Promise<void> | undefined {
    return app === undefined || app === DEFAULT_APP ? undefined : this.#requireGrant(request);
  }

  #requireForSession(request: FastifyRequest, app: string): Promise<void> | undefined {
    request.sessionApp = app;
    return app !== DEFAULT_APP && this.#matters(request, app) ? this.#requireGrant(request) : undefined;
  }

  async #requireGrant(request: FastifyRequest): Promise<void> {
    await this.#look(request);
    if (request.keyGrant === null) throw unknownKey();
  }

  async #look(request: FastifyRequest): Promise<void> {
    const key = appKey(request.raw);
    if (request.keyGrant === null && key !== null) request.keyGrant = await this.#keys.check(key);
  }

  /** Whether a request on a session of this App stands or falls with its key. */
  #matters(request: FastifyRequest, app: string): boolean {
    const { needsAppKey = false } = request.routeOptions.config;
    return needsAppKey || appKey(request.raw) !== null || this.#requiresKey(app);
  }

  /** The sessions of an App that has left the configuration are closed: nobody can say any more what it asked for. */
  #requiresKey(app: string): boolean {
    if (app === DEFAULT_APP) return false;
    const settings = this.#apps.get(app);
    return settings === null || settings.requireKey === "all";
  }
}

/** Whatever is wrong with it (sent twice, say), validation says later; nothing but text names an App. */
function appOfQuery(request: FastifyRequest): string | undefined {
  const named = (request.query as Query)["app"];
  return typeof named === "string" && named !== "" ? named : undefined;
}

/** Nothing before the body was read. */
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

/** The same answer whether or not the App exists. */
function unknownKey(): ServiceError {
  return new ServiceError(
    401,
    "app_key_invalid",
    "This App needs a valid key in the header SERVICE-APP-KEY. Use the App default, which needs none, or ask the operator " +
      "for a key.",
    { headers: { "www-authenticate": 'ServiceAppKey realm="colloquy", header="SERVICE-APP-KEY"' } },
  );
}

function appForbidden(): ServiceError {
  return new ServiceError(
    403,
    "app_forbidden",
    "The key in the header SERVICE-APP-KEY does not open this App. Send a key that does, or ask the operator for one.",
  );
}

/** The key of an open event stream, checked again while the stream lasts. */
export class KeyedStream implements StreamAccess {
  readonly #keys: AppKeys;
  readonly #key: string;
  #grant: KeyGrant | null;

  constructor(keys: AppKeys, key: string, grant: KeyGrant | null) {
    this.#keys = keys;
    this.#key = key;
    this.#grant = grant;
  }

  opens(app: string): boolean {
    return app === DEFAULT_APP || this.#grant?.apps.has(app) === true;
  }

  /** `null` for the default App, which needs no key. */
  askedAt(app: string): number | null {
    return app === DEFAULT_APP ? null : (this.#grant?.askedAt ?? null);
  }

  readonly refresh = async (): Promise<void> => {
    this.#grant = await this.#keys.check(this.#key);
  };
}
