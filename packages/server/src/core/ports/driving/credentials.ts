// Driving ports: the keys of Apps, and the sign-in tokens of users. Implemented in apps/keys/ and apps/users/.

import type { ServiceError } from "../../errors.ts";
import type { Actor } from "../../audit.ts";
import type { KeyScope } from "../../key-scopes.ts";
import type { AppKeyRecord } from "../driven/store.ts";

/** Grant of a valid token. */
export interface UserGrant {
  /** Pseudonym of the user, as in `SessionUser`. */
  readonly owner: string;
  /** Apps that accept the token. */
  readonly apps: readonly string[];
  /** Apps for which it replaces the App key. */
  readonly opens: readonly string[];
  /** Ids of the wallets that the user has proved, the newest last. */
  readonly wallets: readonly string[];
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
  /** Time of the last revocation check, in milliseconds on the monotonic clock. */
  readonly askedAt: number;
}

/** A user of the admin API. */
export interface Operator {
  /** `sub` of the token. */
  readonly subject: string;
  /** Name to show to others. */
  readonly name: string;
}

export interface OperatorTokens {
  /**
   * Returns the operator, or the 401 for an invalid token or 403 for a user who is not an operator. Rejects
   * with `Unavailable` if its keys cannot be read.
   */
  check(token: string): Promise<Operator | ServiceError>;
}

export interface UserTokens {
  /** True if any App has users or proved wallets. Otherwise tokens are ignored. */
  readonly areUsed: boolean;
  /**
   * Returns the grant of a token, or the 401 if no App accepts it. Sees revocations by any process within 5
   * s. Synchronous for a token that was checked recently. Rejects with `Unavailable` if the keys or the
   * revocations cannot be read.
   */
  check(token: string): UserGrant | ServiceError | Promise<UserGrant | ServiceError>;
  /**
   * Revokes a valid token, for all processes within 5 s. Revoking it again does nothing.
   * @throws ServiceError 401 if no App accepts the token
   */
  revoke(token: string): Promise<void>;
  /** Returns the pseudonym of a subject of an issuer. */
  ownerOf(issuer: string, subject: string): string;
}

/** A signed Sign-In with Ethereum message (EIP-4361). */
export interface WalletProof {
  readonly message: string;
  readonly signature: `0x${string}`;
  /** Domains that the message may be for, in lower case. */
  readonly domains: readonly string[];
  /** Token of the user who gains the wallet; `null` if the wallet itself is the user. */
  readonly token: string | null;
}

/** A token whose user has proved these wallets. */
export interface WalletToken {
  readonly token: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
  /** Addresses in lower case. */
  readonly wallets: readonly string[];
}

/** Sign-in with wallets. Methods throw `ServiceError`: 401 for an invalid token, 503 without a master key. */
export interface WalletSignInService {
  /** Returns a nonce that any node accepts once, within five minutes. */
  nonce(): Promise<string>;
  /** @throws ServiceError 400 for a malformed message, 401 for an invalid one or a wrong signature */
  verify(proof: WalletProof): Promise<WalletToken>;
  /** Returns the next token of a sign-in. @throws ServiceError 403 for a token without wallets */
  refresh(token: string): Promise<WalletToken>;
}

/** A listed key. Times are milliseconds since the Unix epoch. */
export interface ListedKey extends Omit<AppKeyRecord, "digest"> {
  readonly status: "good" | "revoked" | "expired";
}

export interface IssuedKey extends ListedKey {
  /** The whole key, which is shown once and never stored. */
  readonly key: string;
}

/** Management of App keys. Changes by an actor are in the audit trail. */
export interface KeyService {
  /**
   * Creates a key that expires in `expiresInMs` milliseconds, `null` for never.
   * @throws InvalidRequest for an App that is not configured or needs no key, for App scopes without Apps,
   * and for Apps without App scopes
   */
  create(
    input: {
      readonly apps: readonly string[];
      /** Repetitions are dropped; an empty list means all scopes of Apps. */
      readonly scopes: readonly KeyScope[];
      readonly name: string | null;
      readonly expiresInMs: number | null;
    },
    by?: Actor | null,
  ): Promise<IssuedKey>;
  /** Returns all keys ever created, oldest first. */
  list(): Promise<readonly ListedKey[]>;
  /** Revokes the key everywhere within five seconds. @throws NotFound */
  revoke(id: string, by?: Actor | null): Promise<ListedKey>;
  /**
   * Creates a key for the same Apps and scopes with the old one's lifetime. The old one ends in `overlapMs` milliseconds.
   * @throws NotFound if there is no such key, or it has ended
   */
  rotate(id: string, overlapMs: number, by?: Actor | null): Promise<IssuedKey>;
}

/** Grant of a valid key. */
export interface KeyGrant {
  readonly keyId: string;
  readonly name: string | null;
  readonly apps: ReadonlySet<string>;
  readonly scopes: ReadonlySet<KeyScope>;
  /** Time at which the store was queried, in milliseconds on the monotonic clock. The key was valid then. */
  readonly askedAt: number;
}

export interface AppKeys {
  /** Returns the grant of the key; `null` if it is malformed, unknown, revoked or expired. A revocation by any
   * process takes effect within five seconds.
   * @throws Unavailable if the store fails
   */
  check(key: string): Promise<KeyGrant | null>;
}
