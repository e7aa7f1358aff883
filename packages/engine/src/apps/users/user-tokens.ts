// Checks sign-in tokens on every request. Grants are cached briefly, so that polling verifies no signature
// and reads no store each time, and no longer, so that a revocation by any process takes effect soon.
// Refusals are not cached, because anybody can send any number of bad tokens.

import { randomUUID } from "node:crypto";
import { decodeJwt, type JWTPayload } from "jose";
import { approverRule } from "../../core/action.ts";
import { approvalTerms, type UserSettings } from "../../core/app-settings.ts";
import { ServiceError } from "../../core/errors.ts";
import type { AppCatalog, AppDefinition } from "../../core/ports/driven/apps.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import type { SigningKeys } from "../../core/ports/driven/secret-store.ts";
import type { UserStore } from "../../core/ports/driven/store.ts";
import type { UserGrant } from "../../core/ports/driving/credentials.ts";
import { digestOf, identitiesOf } from "./token-identities.ts";
import type { KeySource } from "./issuer-keys.ts";
import { hasClaim, nameToShow } from "./token-claims.ts";
import { refusedToken, type TokenProblem } from "./token-refusals.ts";
import { problemOfText, TokenVerifier } from "./token-verifier.ts";
import { WALLET_ISSUER, type WalletHolder, WalletTokens } from "./wallet-tokens.ts";

/** Maximum age of a cached grant in milliseconds. */
const MAX_AGE_MS = 2_000;
/** Maximum number of cached grants. */
const MAX_CACHED = 10_000;

/** A token whose signature and claims were verified. */
interface Verified {
  /** Its ids for revocations. */
  readonly ids: readonly string[];
  /** Id of the user's token to which wallets were added, whose revocation ends this one too. */
  readonly extended?: string;
  readonly holder: WalletHolder;
  readonly grant: Omit<UserGrant, "checkedAt">;
}

interface AppWithUsers {
  readonly app: string;
  readonly users: UserSettings;
}

interface Check {
  /** Start of the check on the monotonic clock: its result was current at this time or later. */
  readonly checkedAt: number;
  readonly pending: Promise<UserGrant | ServiceError>;
  /** `null` until it is known. */
  grant: UserGrant | null;
}

export interface CheckedTokensOptions {
  readonly store: UserStore;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly logger: Pick<Logger, "warn">;
  readonly apps: AppCatalog;
  /** Keys of wallet tokens; `null` if there are none. */
  readonly keys: SigningKeys | null;
}

export class CheckedTokens {
  /** True if any App has users or proved wallets. Otherwise tokens are ignored. */
  readonly areUsed: boolean;
  readonly #options: CheckedTokensOptions;
  /** By token, in the order of the checks. */
  readonly #checks = new Map<string, Check>();
  readonly #verifier: TokenVerifier;

  constructor(options: CheckedTokensOptions) {
    this.#options = options;
    this.#verifier = new TokenVerifier(options);
    const { apps } = options;
    this.areUsed = apps.names().some((name) => takesTokens(apps.get(name)));
  }

  /**
   * Returns the grant of a token, or the 401 if no App accepts it. Sees revocations by any process within 5
   * s. Synchronous for a token that was checked recently. Rejects with `Unavailable` if the keys or the
   * revocations cannot be read.
   */
  check(token: string): UserGrant | ServiceError | Promise<UserGrant | ServiceError> {
    const { clock } = this.#options;
    const now = clock.monotonic();
    const known = this.#checks.get(token);
    if (known !== undefined && now - known.checkedAt < MAX_AGE_MS) {
      const { grant } = known;
      if (grant === null) return known.pending;
      if (grant.expiresAt > clock.now()) return grant;
    }
    return this.#start(token, now);
  }

  /**
   * Revokes a valid token, for all processes within 5 s. Revoking it again does nothing.
   * @throws ServiceError 401 if no App accepts the token
   */
  async revoke(token: string): Promise<void> {
    const verified = await this.#verify(token);
    if (verified instanceof ServiceError) throw verified;
    for (const id of verified.ids) await this.#options.store.revokeToken(id, verified.holder.until);
    this.#checks.delete(token);
  }

  /** Returns the user of a valid token, to add wallets or to refresh it. @throws ServiceError 401 */
  async holderOf(token: string): Promise<WalletHolder> {
    const verified = await this.#verify(token);
    if (verified instanceof ServiceError) throw verified;
    if (await this.#isRevoked(verified)) throw refusedToken("token_revoked");
    return verified.holder;
  }

  /** Returns the pseudonym of a subject of an issuer. */
  ownerOf(issuer: string, subject: string): string {
    return digestOf([issuer, subject]);
  }

  #start(token: string, checkedAt: number): Promise<UserGrant | ServiceError> {
    this.#checks.delete(token);
    this.#makeRoom(checkedAt);
    const check: Check = { checkedAt, pending: this.#checkNow(token, checkedAt), grant: null };
    this.#checks.set(token, check);
    const forget = (): void => {
      if (this.#checks.get(token) === check) this.#checks.delete(token);
    };
    check.pending.then((result) => {
      if (result instanceof ServiceError) forget();
      else check.grant = result;
    }, forget);
    return check.pending;
  }

  async #checkNow(token: string, checkedAt: number): Promise<UserGrant | ServiceError> {
    const verified = await this.#verify(token);
    if (verified instanceof ServiceError) return verified;
    return (await this.#isRevoked(verified))
      ? refusedToken("token_revoked")
      : { ...verified.grant, checkedAt };
  }

  async #isRevoked({ ids, extended }: Verified): Promise<boolean> {
    const { store } = this.#options;
    const all = extended === undefined ? ids : [...ids, extended];
    return (await Promise.all(all.map((id) => store.isTokenRevoked(id)))).includes(true);
  }

  async #verify(token: string): Promise<Verified | ServiceError> {
    const unreadable = problemOfText(token);
    if (unreadable !== null) return refusedToken(unreadable);
    let claims: JWTPayload;
    try {
      claims = decodeJwt(token);
    } catch {
      return refusedToken("token_malformed");
    }
    return claims.iss === WALLET_ISSUER
      ? await this.#verifyWallets(token)
      : await this.#verifyUser(token, claims);
  }

  async #verifyWallets(token: string): Promise<Verified | ServiceError> {
    const { keys, clock } = this.#options;
    if (keys === null) return refusedToken("token_key_unknown");
    const verified = await new WalletTokens(keys, clock).verify(token);
    if (typeof verified === "string") return refusedToken(verified);
    const { holder, expiresAt } = verified;
    const { user, wallets, subject } = holder;
    const owner = this.ownerOf(user?.issuer ?? WALLET_ISSUER, subject);
    const accepting = user === null ? [] : this.#appsOf(user.issuer, user.audiences).map(({ app }) => app);
    // Apps of one issuer and audience may differ in the keys that they accept.
    const opens = accepting.filter((app) => user?.apps.includes(app));
    const apps = user === null ? this.#appsOfWallets() : opens;
    return {
      ids: [digestOf([WALLET_ISSUER, holder.id])],
      ...(user !== null && { extended: user.id }),
      holder,
      grant: { owner, apps, opens, wallets, expiresAt },
    };
  }

  /** Verifies the token for each App of its issuer and audience. */
  async #verifyUser(token: string, claims: JWTPayload): Promise<Verified | ServiceError> {
    const candidates = this.#candidates(claims);
    if (typeof candidates === "string") return refusedToken(candidates);
    const apps: string[] = [];
    let payload: JWTPayload | null = null;
    let problem: TokenProblem = "token_audience_wrong";
    const refusedBy = new Set<KeySource>();
    for (const { app, users } of candidates) {
      const source = this.#verifier.sourceOf(users);
      // A token can name the audiences of many Apps. All that share their keys would refuse it.
      if (refusedBy.has(source)) continue;
      const verified = await this.#verifier.verify(token, users);
      if (typeof verified === "string") {
        problem = verified;
        refusedBy.add(source);
      } else {
        payload = verified;
        apps.push(app);
      }
    }
    if (payload === null) return refusedToken(problem);
    const { iss = "", sub = "", exp = 0, aud } = payload;
    const ids = identitiesOf(token, payload);
    const expiresAt = exp * 1000;
    const user = { issuer: iss, audiences: [aud ?? []].flat(), apps, id: ids[0] };
    return {
      ids,
      holder: { id: randomUUID(), subject: sub, user, wallets: [], until: expiresAt },
      grant: {
        owner: this.ownerOf(iss, sub),
        apps,
        opens: apps,
        wallets: [],
        expiresAt,
        ...this.#approverOf(payload, apps),
      },
    };
  }

  /**
   * Returns a field with the approver rules that the token satisfies, to be spread; an empty object if there
   * are none.
   */
  #approverOf(payload: JWTPayload, apps: readonly string[]): Pick<UserGrant, "approver"> {
    const rules = apps.flatMap((app) =>
      Object.entries(this.#options.apps.get(app)?.tools.approvals ?? {}).flatMap(([tool, entry]) => {
        const { approvers } = approvalTerms(entry);
        return approvers !== undefined && hasClaim(payload, approvers) ? [approverRule(app, tool)] : [];
      }),
    );
    return rules.length === 0 ? {} : { approver: { name: nameToShow(payload), rules } };
  }

  /** Returns the Apps that may accept a token with these claims, which are not verified yet. */
  #candidates({ iss, aud }: JWTPayload): readonly AppWithUsers[] | TokenProblem {
    if (this.#appsOf(iss, null).length === 0) return "token_issuer_unknown";
    const accepting = this.#appsOf(iss, [aud ?? []].flat());
    return accepting.length === 0 ? "token_audience_wrong" : accepting;
  }

  /** Returns the Apps whose users have tokens of this issuer, and of one of the audiences; `null` for any. */
  #appsOf(issuer: string | undefined, audiences: readonly string[] | null): readonly AppWithUsers[] {
    const { apps } = this.#options;
    return apps.names().flatMap((app) => {
      const users = apps.get(app)?.users ?? null;
      const accepts =
        users?.issuer === issuer && (audiences === null || audiences.includes(users?.audience ?? ""));
      return users !== null && accepts ? [{ app, users }] : [];
    });
  }

  /** Returns the Apps without their own users, in which the wallet is the user. */
  #appsOfWallets(): readonly string[] {
    const { apps } = this.#options;
    return apps.names().filter((name) => {
      const app = apps.get(name);
      return app?.users === null && app.wallets === "proved";
    });
  }

  #makeRoom(now: number): void {
    for (const [token, { checkedAt }] of this.#checks) {
      if (now - checkedAt < MAX_AGE_MS && this.#checks.size < MAX_CACHED) return;
      this.#checks.delete(token);
    }
  }
}

function takesTokens(app: AppDefinition | null): boolean {
  return app !== null && (app.users !== null || app.wallets === "proved");
}
