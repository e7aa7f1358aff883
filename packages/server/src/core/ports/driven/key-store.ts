// App keys in the store, which holds only a digest of each secret.

import type { AuditEntry } from "../../audit.ts";
import type { KeyScope } from "../../key-scopes.ts";

export interface AppKeyRecord {
  /** Public part of the key, which names it in lists and commands. */
  readonly id: string;
  readonly name: string | null;
  /** Apps that the key opens. */
  readonly apps: readonly string[];
  readonly scopes: readonly KeyScope[];
  /** SHA-256 of the secret, hexadecimal. */
  readonly digest: string;
  /** Times in milliseconds since the Unix epoch; `null` for never. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

export interface KeyStore {
  // Changes store an entry of the audit trail, unless it is `null`.

  /** Rejects if a key with this id exists. */
  add(key: AppKeyRecord, entry?: AuditEntry | null): Promise<void>;
  find(id: string): Promise<AppKeyRecord | null>;
  /** Oldest first. */
  list(): Promise<readonly AppKeyRecord[]>;
  /** Revokes a key now, unless it is already revoked. Returns the key; `null` if there is none. */
  revoke(id: string, entry?: AuditEntry | null): Promise<AppKeyRecord | null>;
  /** Adds `next` and ends `id` after `overlapMs`, unless it ends earlier. Returns `null`, changing nothing, if `id` is unknown or ended. */
  rotate(
    id: string,
    next: AppKeyRecord,
    overlapMs: number,
    entry?: AuditEntry | null,
  ): Promise<AppKeyRecord | null>;
}
