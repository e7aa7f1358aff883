// The user of a request: the bearer of a token (RFC 6750), or the user that a request with an `act_as` key
// names (contract section 4).

import type { FastifyRequest } from "fastify";
import { InvalidRequest, ServiceError } from "../core/errors.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/driven/apps.ts";
import type { KeyGrant, UserGrant, UserTokens } from "../core/ports/driving/credentials.ts";
import type { SessionUser } from "../core/session-access.ts";
import { scopeMissing } from "./key-refusals.ts";
import { textHeader } from "./request.ts";

const OWNER_HEADER = "colloquy-owner";
/** The form of pseudonyms: a SHA-256 digest in base64url. */
const PSEUDONYM = /^[\w-]{43}$/;

/** The user of a request: a grant, or the 401 of an invalid token. */
export type RequestUser = Omit<UserGrant, "expiresAt"> | ServiceError;

interface UserAccessParts {
  readonly users: UserTokens;
  readonly apps: AppCatalog;
}

export class UserAccess {
  readonly #users: UserTokens;
  readonly #apps: AppCatalog;

  constructor({ users, apps }: UserAccessParts) {
    this.#users = users;
    this.#apps = apps;
  }

  /** Returns the token of the request; `null` if there is none, or if no App has users. */
  tokenOf({ raw }: FastifyRequest): string | null {
    const sent = raw.headers.authorization;
    if (sent === undefined || !this.#users.areUsed) return null;
    return /^bearer +(\S.*)$/i.exec(sent)?.[1]?.trimEnd() ?? null;
  }

  /** Returns true if the request names a user. */
  isNamed(request: FastifyRequest): boolean {
    return this.tokenOf(request) !== null || this.ownerHeader(request) !== null;
  }

  /** Returns the header that names the user whom a key acts for; `null` if it is absent. */
  ownerHeader({ raw }: FastifyRequest): string | null {
    return textHeader(raw, OWNER_HEADER) || null;
  }

  /** Returns the user of a token; `null` without one. Rejects if the token cannot be checked. */
  ofToken(token: string | null): RequestUser | null | Promise<RequestUser> {
    return token === null ? null : this.#users.check(token);
  }

  /**
   * Returns the user whom a key acts for, by the header; `null` without key or header.
   * @throws ServiceError 400 for a malformed header, 403 if the key lacks the scope
   */
  ofKey(header: string | null, grant: KeyGrant | null): RequestUser | null {
    if (header === null || grant === null) return null;
    const [, issuer, subject] = /^(\S+) (\S.*)$/.exec(header) ?? [];
    if (issuer === undefined || subject === undefined) {
      throw new InvalidRequest(
        "owner_invalid",
        "The header Colloquy-Owner must be the issuer of the user's tokens and their subject, with a space between.",
      );
    }
    if (!grant.scopes.has("act_as")) throw scopeMissing("act_as");
    const { apps, askedAt } = grant;
    return { owner: this.#users.ownerOf(issuer, subject), apps: [...apps], opens: [], wallets: [], askedAt };
  }

  /**
   * Checks the user of a request in an App.
   * @throws ServiceError 401 if the App takes tokens and this one is not valid, or if the App requires a user
   * and there is none
   */
  require(user: RequestUser | null, app: unknown): void {
    if (!this.#takesTokens(app)) return;
    if (user instanceof ServiceError) throw user;
    if (this.#settingsOf(app)?.users?.required === true && !accepts(user, app)) throw tokenRequired();
  }

  /**
   * Returns true if a client id may be the pseudonym of a user of the App, which anybody can compute from
   * issuer and subject.
   */
  mayBeUser(clientId: string, app: string): boolean {
    return PSEUDONYM.test(clientId) && this.#takesTokens(app);
  }

  hasUsers(app: unknown): boolean {
    return (this.#settingsOf(app)?.users ?? null) !== null;
  }

  /** Returns the user for the core. `named` is the App that the request is for. */
  sessionUser(user: RequestUser | null, named: string): SessionUser | null {
    if (user === null || user instanceof ServiceError) return null;
    const { owner, apps, wallets } = user;
    return { owner, apps, wallets, takesNew: apps.includes(named) };
  }

  #takesTokens(app: unknown): boolean {
    const settings = this.#settingsOf(app);
    return settings !== null && (settings.users !== null || settings.wallets === "proved");
  }

  #settingsOf(app: unknown): AppDefinition | null {
    return typeof app === "string" ? this.#apps.get(app) : null;
  }
}

/**
 * Returns true if the user's token replaces the key of the App. Wallet sign-ins do not, because anybody may
 * sign in; neither do users named by a key, which is checked itself.
 */
export function opens(user: RequestUser | null, app: unknown): boolean {
  return user !== null && !(user instanceof ServiceError) && user.opens.some((name) => name === app);
}

/** Returns true if the App accepts the user. */
export function accepts(user: RequestUser | null, app: unknown): boolean {
  return user !== null && !(user instanceof ServiceError) && user.apps.some((name) => name === app);
}

/** Returns the 401 for a request without a token. Its header contains no error code (RFC 6750 section 3). */
export function tokenRequired(): ServiceError {
  const detail = "This is for signed-in users. Send the header Authorization: Bearer with the user's token.";
  return new ServiceError(401, "token_required", detail, {
    headers: { "www-authenticate": 'Bearer realm="colloquy"' },
  });
}
