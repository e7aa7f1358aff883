import type { Actor } from "../../audit.ts";
import type { KeyScope } from "../../key-scopes.ts";
import type { AppKeyRecord } from "../driven/key-store.ts";

/** A listed key. Times are milliseconds since the Unix epoch. */
export interface ListedKey extends Omit<AppKeyRecord, "digest"> {
  readonly status: "good" | "revoked" | "expired";
}

export interface IssuedKey extends ListedKey {
  /** The whole key, shown once and stored nowhere. */
  readonly key: string;
}

/** Management of App keys. Changes by an actor are in the audit trail. */
export interface KeyService {
  /**
   * Creates a key that expires in `expiresInMs` milliseconds, `null` for never.
   * @throws InvalidRequest if an App is not configured or needs no key, or if the scopes are of Apps and none is named, or the reverse
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

/** A valid key. */
export interface KeyGrant {
  readonly keyId: string;
  readonly name: string | null;
  readonly apps: ReadonlySet<string>;
  readonly scopes: ReadonlySet<KeyScope>;
  /**
   * When the store was queried, in milliseconds on the monotonic clock. The grant was valid at that time or
   * later.
   */
  readonly askedAt: number;
}

export interface AppKeys {
  /**
   * Returns the Apps of a key, `null` if it is malformed, unknown, revoked or expired. Sees revocations by
   * any process within 5 s. Rejects with `Unavailable` if the store fails.
   */
  check(key: string): Promise<KeyGrant | null>;
}
