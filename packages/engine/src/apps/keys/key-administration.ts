// Key management for operators: create, list, revoke, rotate. No other code sees a whole key, and this code
// sees it only at its creation.

import { type Actor, type AuditAction, type AuditEntry, logAudit } from "../../core/audit.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import { InvalidRequest, NotFound } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { IssuedKey, ListedKey, NewKey } from "../../core/ports/driving/credentials.ts";
import type { AppKeyRecord, KeyStore } from "../../core/ports/driven/store.ts";
import { APP_SCOPES, KEY_SCOPES, type KeyScope } from "../../core/key-scopes.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import { digestSecret, formatKey, newKey } from "./key-text.ts";

export interface KeyAdministrationOptions {
  readonly store: KeyStore;
  readonly clock: Pick<Clock, "now">;
  /** Logs changes by an actor; absent for none. */
  readonly logger?: Pick<Logger, "info">;
  /** Returns the names of the configured Apps. */
  readonly apps: () => readonly string[];
}

/** Management of App keys. Changes by an actor are in the audit trail. */
export class KeyAdministration {
  readonly #options: KeyAdministrationOptions;

  constructor(options: KeyAdministrationOptions) {
    this.#options = options;
  }

  /**
   * Creates a key that expires in `expiresInMs` milliseconds, `null` for never.
   * @throws InvalidRequest for an App that is not configured or needs no key, for App scopes without Apps,
   * and for Apps without App scopes
   */
  async create(input: NewKey, by: Actor | null = null): Promise<IssuedKey> {
    const apps = [...new Set(input.apps)];
    const scopes = scopesOf(input.scopes);
    if (scopes.some((scope) => APP_SCOPES.some((one) => one === scope))) this.#assertConfigured(apps);
    else if (apps.length > 0) throw new InvalidRequest("app_unknown", OPENS_NO_APP);
    const now = this.#options.clock.now();
    const expiresAt = input.expiresInMs === null ? null : now + input.expiresInMs;
    const issued = this.#issue({ name: input.name, apps, scopes, createdAt: now, expiresAt });
    const entry = entryOf("key_created", by, issued.record);
    await this.#options.store.add(issued.record, entry);
    this.#log(entry);
    return { ...this.#listed(issued.record), key: issued.key };
  }

  /** Returns all keys ever created, oldest first. */
  async list(): Promise<readonly ListedKey[]> {
    return (await this.#options.store.list()).map((record) => this.#listed(record));
  }

  /** Revokes the key everywhere within five seconds. @throws NotFound */
  async revoke(id: string, by: Actor | null = null): Promise<ListedKey> {
    const entry = entryOf("key_revoked", by, { id });
    const record = await this.#options.store.revoke(id, entry);
    if (record === null) throw unknownKey(id);
    this.#log(entry);
    return this.#listed(record);
  }

  /**
   * Creates a key for the same Apps and scopes with the old one's lifetime. The old one ends in `overlapMs` milliseconds.
   * @throws NotFound if there is no such key, or it has ended
   */
  async rotate(id: string, overlapMs: number, by: Actor | null = null): Promise<IssuedKey> {
    const { store, clock } = this.#options;
    const old = (await store.list()).find((record) => record.id === id);
    if (old === undefined) throw unknownKey(id);
    const now = clock.now();
    const { name, apps, scopes, createdAt } = old;
    const expiresAt = old.expiresAt === null ? null : now + (old.expiresAt - createdAt);
    const issued = this.#issue({ name, apps, scopes, createdAt: now, expiresAt });
    const entry = entryOf("key_rotated", by, { id }, { next: issued.record.id });
    if ((await store.rotate(id, issued.record, overlapMs, entry)) === null) {
      const detail = `The key ${id} has ended, so there is nothing to hand over. Create a new one.`;
      throw new NotFound("app_key_ended", detail);
    }
    this.#log(entry);
    return { ...this.#listed(issued.record), key: issued.key };
  }

  #log(entry: AuditEntry | null): void {
    const { logger } = this.#options;
    if (entry !== null && logger !== undefined) logAudit(logger, [entry]);
  }

  #issue(about: Pick<AppKeyRecord, "name" | "apps" | "scopes" | "createdAt" | "expiresAt">): {
    readonly record: AppKeyRecord;
    readonly key: string;
  } {
    const parts = newKey();
    const digest = digestSecret(parts.secret).toString("hex");
    return { record: { ...about, id: parts.id, digest, revokedAt: null }, key: formatKey(parts) };
  }

  #listed({ digest: _digest, ...record }: AppKeyRecord): ListedKey {
    const { revokedAt, expiresAt } = record;
    const isOver = expiresAt !== null && expiresAt <= this.#options.clock.now();
    return { ...record, status: revokedAt !== null ? "revoked" : isOver ? "expired" : "good" };
  }

  #assertConfigured(apps: readonly string[]): void {
    const keyed = this.#options.apps().filter((name) => name !== DEFAULT_APP);
    const wrong = apps.filter((name) => !keyed.includes(name));
    if (apps.length > 0 && wrong.length === 0) return;
    const known =
      keyed.length === 0
        ? "The configuration has no App that needs a key."
        : `Apps that need a key: ${keyed.join(", ")}.`;
    const problem =
      wrong.length === 0
        ? "A key must open at least one App, unless it has scopes of the admin API only."
        : wrong.includes(DEFAULT_APP)
          ? `The App ${DEFAULT_APP} needs no key.`
          : `There is no App ${wrong.map((name) => `"${name}"`).join(", ")}.`;
    throw new InvalidRequest("app_unknown", `${problem} ${known}`);
  }
}

const OPENS_NO_APP =
  "A key with scopes of the admin API only opens no App. Name none, or add the scope chat, read or secrets.";

function entryOf(
  action: AuditAction,
  by: Actor | null,
  { id, name, apps, scopes }: Pick<AppKeyRecord, "id"> & Partial<AppKeyRecord>,
  more: JsonObject = {},
): AuditEntry | null {
  if (by === null) return null;
  const about =
    apps === undefined || scopes === undefined
      ? {}
      : { name: name ?? null, apps: [...apps], scopes: [...scopes] };
  return { action, actor: by, app: null, target: id, details: { ...about, ...more } };
}

/** Returns the scopes without duplicates; all App scopes if the list is empty. */
function scopesOf(scopes: readonly KeyScope[]): readonly KeyScope[] {
  return scopes.length === 0 ? APP_SCOPES : KEY_SCOPES.filter((scope) => scopes.includes(scope));
}

function unknownKey(id: string): NotFound {
  return new NotFound(
    "app_key_unknown",
    `There is no key with the id ${id}. colloquy keys list shows them all.`,
  );
}
