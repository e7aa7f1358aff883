// Driving port: the sign-in tokens of users.

import type { ServiceError } from "../../errors.ts";

/** A valid token. */
export interface UserGrant {
  /** Pseudonym of the user, as in `SessionUser`. */
  readonly owner: string;
  /** Apps that accept the token. */
  readonly apps: readonly string[];
  /** Those whose key it stands for. */
  readonly opens: readonly string[];
  /** Wallets that the user has proved to hold: addresses in lower case. */
  readonly wallets: readonly string[];
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
  /** When the store was asked for a revocation, in milliseconds on the monotonic clock. */
  readonly askedAt: number;
}

/** Somebody who may use the admin API. */
export interface Operator {
  /** `sub` of the token. */
  readonly subject: string;
  /** Name to show to others. */
  readonly name: string;
}

export interface OperatorTokens {
  /** Returns the operator of a token, 401 for an invalid one, or 403 for one of somebody else. Rejects with `Unavailable` if its keys cannot be read. */
  check(token: string): Promise<Operator | ServiceError>;
}

export interface UserTokens {
  /** True if an App has users, or proved wallets. Otherwise no request is checked for a token. */
  readonly areUsed: boolean;
  /**
   * Returns the grant of a token, or the 401 for a token that no App accepts. Sees a revocation by any process within 5 s. Synchronous for
   * a token that was checked recently. Rejects with `Unavailable` if its keys or its revocation cannot be read.
   */
  check(token: string): UserGrant | ServiceError | Promise<UserGrant | ServiceError>;
  /**
   * Ends a valid token for all processes within 5 s.
   * @throws ServiceError 401 for a token that no App accepts, unless it was revoked before
   */
  revoke(token: string): Promise<void>;
  /** Returns the pseudonym of a subject of an issuer. */
  ownerOf(issuer: string, subject: string): string;
}

/** A message of Sign-In with Ethereum (EIP-4361) with its signature. */
export interface WalletProof {
  readonly message: string;
  readonly signature: `0x${string}`;
  /** Domains that the message may be for, in lower case. */
  readonly domains: readonly string[];
  /** Token of the user to whom the wallet is added; `null` for none: the wallet is the user. */
  readonly token: string | null;
}

/** A token that holds wallets. */
export interface WalletToken {
  readonly token: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
  readonly wallets: readonly string[];
}

/** Sign-in with wallets. Methods throw `ServiceError` 401 for a token that is not valid, 503 without a master key. */
export interface WalletSignInService {
  /** Returns a nonce for one sign-in in five minutes, on any node. */
  nonce(): Promise<string>;
  /** @throws ServiceError 400 or 401 for a message or signature that proves nothing */
  verify(proof: WalletProof): Promise<WalletToken>;
  /** Returns the next token of a sign-in. @throws ServiceError 403 for a token without wallets */
  refresh(token: string): Promise<WalletToken>;
}
