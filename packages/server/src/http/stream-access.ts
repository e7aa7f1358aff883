import { ServiceError } from "../core/errors.ts";
import type { AppScope } from "../core/key-scopes.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { KeyGrant } from "../core/ports/driving/credentials.ts";
import type { SessionOwnership, StreamAccess, StreamEnd } from "../core/ports/driving/services.ts";
import type { SessionAccess } from "../core/session-access.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { accepts, opens, type RequestUser } from "./user-access.ts";

/** The checked key and user of a stream. */
export interface Credentials {
  readonly grant: KeyGrant | null;
  readonly user: RequestUser | null;
}

interface StreamParts {
  readonly session: SessionAccess;
  readonly apps: AppCatalog;
  /** Scope that the key needs; `read` when absent. */
  readonly scope?: AppScope;
  /** True if the stream sent a key, even an invalid one. */
  readonly hasKey: boolean;
  readonly credentials: Credentials;
  /** Checks again; `null` for a stream that sent neither key nor token. */
  readonly check: (() => Promise<Credentials>) | null;
}

/** Access of an event stream, whose key and token are checked repeatedly. */
export class CheckedStream implements StreamAccess {
  readonly session: SessionAccess;
  readonly refresh: (() => Promise<void>) | null;
  readonly #apps: AppCatalog;
  readonly #scope: AppScope;
  readonly #hasKey: boolean;
  #credentials: Credentials;

  constructor({ session, apps, scope = "read", hasKey, credentials, check }: StreamParts) {
    this.session = session;
    this.#apps = apps;
    this.#scope = scope;
    this.#hasKey = hasKey;
    this.#credentials = credentials;
    this.refresh = check === null ? null : async () => void (this.#credentials = await check());
  }

  endFor({ app, owner }: SessionOwnership): StreamEnd | null {
    const { user } = this.#credentials;
    // A token that was never valid is ignored in an App without users.
    if (user instanceof ServiceError && this.session.user !== null) return "user_token_expired";
    const isUser = accepts(user, app);
    if (!opens(user, app) && !this.#opens(app)) return "app_key_invalid";
    if (!isUser && this.#apps.get(app)?.users?.required === true) return "session_not_found";
    if (owner === null) return null;
    const isOwner = user !== null && !(user instanceof ServiceError) && user.owner === owner;
    // A session without an App counts as the default App's.
    return isOwner && (isUser || app === DEFAULT_APP) ? null : "session_not_found";
  }

  askedAt({ app }: SessionOwnership): number | null {
    const { grant, user } = this.#credentials;
    const times = [app === DEFAULT_APP ? null : (grant?.askedAt ?? null), tokenAskedAt(user)];
    const asked = times.filter((time) => time !== null);
    return asked.length === 0 ? null : Math.min(...asked);
  }

  /** Returns true if the App needs no key for streams, or if the sent key opens it. */
  #opens(app: string): boolean {
    if (app === DEFAULT_APP) return true;
    const { grant } = this.#credentials;
    if (this.#hasKey) return grant?.apps.has(app) === true && grant.scopes.has(this.#scope);
    // Sessions of a removed App are closed, because the App's `requireKey` is unknown.
    return this.#apps.get(app)?.requireKey === "chat";
  }
}

function tokenAskedAt(user: RequestUser | null): number | null {
  return user === null || user instanceof ServiceError ? null : user.askedAt;
}
