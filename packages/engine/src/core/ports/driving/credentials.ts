// App keys and sign-in tokens, as apps/keys/ and apps/users/ return them.

import type { KeyScope } from "../../key-scopes.ts";
import type { AppKeyRecord } from "../driven/store.ts";

/** Permissions of a valid token. */
export interface UserGrant {
  /** Pseudonym of the user, as in `SessionUser`. */
  readonly owner: string;
  /** Apps that accept the token. */
  readonly apps: readonly string[];
  /** Apps for which the token replaces the App key. */
  readonly opens: readonly string[];
  /** Ids of the wallets whose ownership the user has proved, newest last. */
  readonly wallets: readonly string[];
  /** Approver rules that the user satisfies; absent if there are none. */
  readonly approver?: { readonly name: string | null; readonly rules: readonly string[] };
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
  /** Time of the last revocation check, in milliseconds on the monotonic clock. */
  readonly checkedAt: number;
}

/** A user of the admin API. */
export interface Operator {
  /** `sub` of the token. */
  readonly subject: string;
  /** Name to show to others. */
  readonly name: string;
}

/** A signed Sign-In with Ethereum message (EIP-4361). */
export interface WalletProof {
  readonly message: string;
  readonly signature: `0x${string}`;
  /** Accepted domains of the message, in lower case. */
  readonly domains: readonly string[];
  /** Token of the user to link the wallet to; `null` to sign in as the wallet itself. */
  readonly token: string | null;
}

/** A token for a user with proved wallets. */
export interface WalletToken {
  readonly token: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
  /** Lifetime in milliseconds. */
  readonly lifetimeMs: number;
  /** Addresses in lower case. */
  readonly wallets: readonly string[];
}

/** A key without its digest. Times are milliseconds since the Unix epoch. */
export interface ListedKey extends Omit<AppKeyRecord, "digest"> {
  readonly status: "good" | "revoked" | "expired";
}

export interface NewKey {
  readonly apps: readonly string[];
  /** Duplicates are ignored. An empty list means all App scopes. */
  readonly scopes: readonly KeyScope[];
  readonly name: string | null;
  readonly expiresInMs: number | null;
}

export interface IssuedKey extends ListedKey {
  /** The full key. It is shown once and never stored. */
  readonly key: string;
}

/** Permissions of a valid key. */
export interface KeyGrant {
  readonly keyId: string;
  readonly name: string | null;
  readonly apps: ReadonlySet<string>;
  readonly scopes: ReadonlySet<KeyScope>;
  /** Time of the last validity check in the store, in milliseconds on the monotonic clock. */
  readonly checkedAt: number;
}
