// What an operator does with keys: create, list, revoke, rotate. The only place that ever has a whole key, when it is made.

import { InvalidRequest, NotFound } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { AppKeyRecord, KeyStore } from "../../core/ports/key-store.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import { digestSecret, formatKey, newKey } from "./key-text.ts";

/** A key as lists show it. */
export interface ListedKey extends Omit<AppKeyRecord, "digest"> {
  readonly status: "good" | "revoked" | "expired";
}

export interface IssuedKey extends ListedKey {
  /** The whole key: shown this once, kept nowhere. */
  readonly key: string;
}

export interface KeyAdministrationOptions {
  readonly store: KeyStore;
  readonly clock: Pick<Clock, "now">;
  /** Names of the configured Apps. */
  readonly apps: readonly string[];
}

export class KeyAdministration {
  readonly #options: KeyAdministrationOptions;

  constructor(options: KeyAdministrationOptions) {
    this.#options = options;
  }

  /**
   * Makes a key. `expiresInMs` in milliseconds from now, `null` for never.
   * @throws InvalidRequest when there is no App to open, or one is not configured or needs no key
   */
  async create(input: {
    readonly apps: readonly string[];
    readonly name: string | null;
    readonly expiresInMs: number | null;
  }): Promise<IssuedKey> {
    const apps = [...new Set(input.apps)];
    this.#mustBeConfigured(apps);
    const now = this.#options.clock.now();
    const expiresAt = input.expiresInMs === null ? null : now + input.expiresInMs;
    const issued = this.#issue({ name: input.name, apps, createdAt: now, expiresAt });
    await this.#options.store.add(issued.record);
    return { ...this.#listed(issued.record), key: issued.key };
  }

  /** All keys that were ever made, oldest first. */
  async list(): Promise<readonly ListedKey[]> {
    return (await this.#options.store.list()).map((record) => this.#listed(record));
  }

  /** The key opens nothing any more, within five seconds everywhere. @throws NotFound */
  async revoke(id: string): Promise<ListedKey> {
    const record = await this.#options.store.revoke(id);
    if (record === null) throw unknownKey(id);
    return this.#listed(record);
  }

  /**
   * Makes a key that opens the same Apps for as long as the old one was made for. The old one ends `overlapMs` milliseconds from now.
   * @throws NotFound when there is no such key, or it has ended
   */
  async rotate(id: string, overlapMs: number): Promise<IssuedKey> {
    const { store, clock } = this.#options;
    const old = (await store.list()).find((record) => record.id === id);
    if (old === undefined) throw unknownKey(id);
    const now = clock.now();
    const { name, apps, createdAt } = old;
    const expiresAt = old.expiresAt === null ? null : now + (old.expiresAt - createdAt);
    const issued = this.#issue({ name, apps, createdAt: now, expiresAt });
    if ((await store.rotate(id, issued.record, overlapMs)) === null) {
      const detail = `The key ${id} has ended, so there is nothing to hand over. Create a new one.`;
      throw new NotFound("app_key_ended", detail);
    }
    return { ...this.#listed(issued.record), key: issued.key };
  }

  #issue(about: Pick<AppKeyRecord, "name" | "apps" | "createdAt" | "expiresAt">): {
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

  #mustBeConfigured(apps: readonly string[]): void {
    const keyed = this.#options.apps.filter((name) => name !== DEFAULT_APP);
    const wrong = apps.filter((name) => !keyed.includes(name));
    if (apps.length > 0 && wrong.length === 0) return;
    const known =
      keyed.length === 0
        ? "The configuration has no App that needs a key."
        : `Apps that need a key: ${keyed.join(", ")}.`;
    const problem =
      wrong.length === 0
        ? "A key must open at least one App."
        : wrong.includes(DEFAULT_APP)
          ? `The App ${DEFAULT_APP} needs no key.`
          : `There is no App ${wrong.map((name) => `"${name}"`).join(", ")}.`;
    throw new InvalidRequest("app_unknown", `${problem} ${known}`);
  }
}

function unknownKey(id: string): NotFound {
  return new NotFound(
    "app_key_unknown",
    `There is no key with the id ${id}. colloquy keys list shows them all.`,
  );
}
