// App keys in the store. Only a digest of a key's secret is here: nothing that could be used.

export interface AppKeyRecord {
  /** The part of the key that may be shown: it names the key in lists and commands. */
  readonly id: string;
  readonly name: string | null;
  /** Names of the Apps that it opens. */
  readonly apps: readonly string[];
  /** SHA-256 of the secret, hexadecimal. */
  readonly digest: string;
  /** Milliseconds since the Unix epoch, all of them; `null` for never. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

export interface KeyStore {
  /** Rejects when a key with this id exists. */
  add(key: AppKeyRecord): Promise<void>;
  find(id: string): Promise<AppKeyRecord | null>;
  /** Oldest first. */
  list(): Promise<readonly AppKeyRecord[]>;
  /** Revokes a key now; the time of the first revocation stays. Answers the key, `null` when there is none. */
  revoke(id: string): Promise<AppKeyRecord | null>;
  /** Adds `next` and lets `id` end `overlapMs` from now, unless it ends earlier; `null`, with nothing changed, when `id` is unknown or ended. */
  rotate(id: string, next: AppKeyRecord, overlapMs: number): Promise<AppKeyRecord | null>;
}
