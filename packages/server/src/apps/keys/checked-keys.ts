// Keys as they are checked on every request. What the store says of a key is remembered for a moment, so that polling with a key does not
// read it each time, and for no longer, so that a revocation is seen soon, whichever process made it.

import { timingSafeEqual } from "node:crypto";
import type { AppKeys, KeyGrant } from "../../core/ports/app-keys.ts";
import type { AppCatalog } from "../../core/ports/apps.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { AppKeyRecord, KeyStore } from "../../core/ports/key-store.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import { digestSecret, parseKey } from "./key-text.ts";

/** How old an answer of the store may be that a check goes by, in milliseconds. */
export const REMEMBERED_MS = 2_000;
/** Ids remembered at most, those that nobody has too: who guesses them costs a read each and no memory. */
const REMEMBERED = 10_000;
const NO_DIGEST = Buffer.alloc(32);

interface Lookup {
  /** When the store was asked, on the monotonic clock: what it answered was true then or later. */
  readonly askedAt: number;
  readonly record: Promise<AppKeyRecord | null>;
}

export interface CheckedKeysOptions {
  readonly store: Pick<KeyStore, "find">;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** A key opens no App that is not configured. */
  readonly apps: Pick<AppCatalog, "get">;
  readonly remembered?: number;
}

export class CheckedKeys implements AppKeys {
  readonly #options: CheckedKeysOptions;
  readonly #remembered: number;
  /** By id, in the order in which the store was asked. */
  readonly #lookups = new Map<string, Lookup>();

  constructor(options: CheckedKeysOptions) {
    this.#options = options;
    this.#remembered = options.remembered ?? REMEMBERED;
  }

  async check(key: string): Promise<KeyGrant | null> {
    const parts = parseKey(key);
    if (parts === null) return null;
    const { askedAt, record: found } = this.#find(parts.id);
    const record = await found;
    // Compared also where there is nothing to compare with, so that time does not tell which ids exist.
    const digest = record === null ? NO_DIGEST : Buffer.from(record.digest, "hex");
    const isRight = timingSafeEqual(digestSecret(parts.secret), digest);
    if (record === null || !isRight || record.revokedAt !== null) return null;
    if (record.expiresAt !== null && record.expiresAt <= this.#options.clock.now()) return null;
    return { keyId: record.id, apps: new Set(record.apps.filter((app) => this.#isOpened(app))), askedAt };
  }

  #isOpened(app: string): boolean {
    return app !== DEFAULT_APP && this.#options.apps.get(app) !== null;
  }

  #find(id: string): Lookup {
    const now = this.#options.clock.monotonic();
    const known = this.#lookups.get(id);
    if (known !== undefined && now - known.askedAt < REMEMBERED_MS) return known;
    this.#lookups.delete(id);
    this.#makeRoom(now);
    const lookup: Lookup = { askedAt: now, record: this.#options.store.find(id) };
    this.#lookups.set(id, lookup);
    // A store that fails is asked again by the next one.
    lookup.record.catch(() => {
      if (this.#lookups.get(id) === lookup) this.#lookups.delete(id);
    });
    return lookup;
  }

  #makeRoom(now: number): void {
    for (const [id, { askedAt }] of this.#lookups) {
      if (now - askedAt < REMEMBERED_MS && this.#lookups.size < this.#remembered) return;
      this.#lookups.delete(id);
    }
  }
}
