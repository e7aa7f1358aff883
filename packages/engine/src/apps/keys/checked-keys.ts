// Checks keys on every request. Lookups are cached briefly, so that polling does not read the store each
// time, and no longer, so that a revocation by any process takes effect soon.

import { timingSafeEqual } from "node:crypto";
import type { KeyGrant } from "../../core/ports/driving/credentials.ts";
import type { AppCatalog } from "../../core/ports/driven/apps.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { AppKeyRecord, KeyStore } from "../../core/ports/driven/store.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import { digestSecret, parseKey } from "./key-text.ts";

/** Maximum age of a cached lookup in milliseconds. */
export const MAX_AGE_MS = 2_000;
/** Maximum number of cached ids, including unknown ones: guessing ids costs reads, but no memory. */
const MAX_CACHED = 10_000;
const NO_DIGEST = Buffer.alloc(32);

interface Lookup {
  /** Start of the lookup on the monotonic clock: the answer was current at this time or later. */
  readonly checkedAt: number;
  readonly record: Promise<AppKeyRecord | null>;
}

export interface CheckedKeysOptions {
  readonly store: Pick<KeyStore, "find">;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** The configured Apps: keys grant no access to others. */
  readonly apps: Pick<AppCatalog, "get">;
  readonly maxCached?: number;
}

export class CheckedKeys {
  readonly #options: CheckedKeysOptions;
  readonly #maxCached: number;
  /** By id, in the order of the lookups. */
  readonly #lookups = new Map<string, Lookup>();

  constructor(options: CheckedKeysOptions) {
    this.#options = options;
    this.#maxCached = options.maxCached ?? MAX_CACHED;
  }

  /** Returns the grant of the key; `null` if it is malformed, unknown, revoked or expired. A revocation by any
   * process takes effect within five seconds.
   * @throws Unavailable if the store fails
   */
  async check(key: string): Promise<KeyGrant | null> {
    const parts = parseKey(key);
    if (parts === null) return null;
    const { checkedAt, record: found } = this.#find(parts.id);
    const record = await found;
    // Compare for unknown ids too, so that the response time does not reveal which ids exist.
    const digest = record === null ? NO_DIGEST : Buffer.from(record.digest, "hex");
    const isRight = timingSafeEqual(digestSecret(parts.secret), digest);
    if (record === null || !isRight || record.revokedAt !== null) return null;
    if (record.expiresAt !== null && record.expiresAt <= this.#options.clock.now()) return null;
    const apps = record.apps.filter((app) => this.#isOpened(app));
    const { id: keyId, name, scopes } = record;
    return { keyId, name, apps: new Set(apps), scopes: new Set(scopes), checkedAt };
  }

  #isOpened(app: string): boolean {
    return app !== DEFAULT_APP && this.#options.apps.get(app) !== null;
  }

  #find(id: string): Lookup {
    const now = this.#options.clock.monotonic();
    const known = this.#lookups.get(id);
    if (known !== undefined && now - known.checkedAt < MAX_AGE_MS) return known;
    this.#lookups.delete(id);
    this.#makeRoom(now);
    const lookup: Lookup = { checkedAt: now, record: this.#options.store.find(id) };
    this.#lookups.set(id, lookup);
    // Do not cache a failure: the next check retries.
    lookup.record.catch(() => {
      if (this.#lookups.get(id) === lookup) this.#lookups.delete(id);
    });
    return lookup;
  }

  #makeRoom(now: number): void {
    for (const [id, { checkedAt }] of this.#lookups) {
      if (now - checkedAt < MAX_AGE_MS && this.#lookups.size < this.#maxCached) return;
      this.#lookups.delete(id);
    }
  }
}
