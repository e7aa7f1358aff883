import type { AppKeys, KeyGrant } from "../core/ports/driving/app-keys.ts";
import type { StreamAccess } from "../core/ports/driving/services.ts";
import { DEFAULT_APP } from "../core/session.ts";

/** The key of an open stream, looked at again and again. */
export class KeyedStream implements StreamAccess {
  readonly #keys: AppKeys;
  readonly #key: string;
  #grant: KeyGrant | null;

  constructor(keys: AppKeys, key: string, grant: KeyGrant | null) {
    this.#keys = keys;
    this.#key = key;
    this.#grant = grant;
  }

  opens(app: string): boolean {
    return app === DEFAULT_APP || this.#grant?.apps.has(app) === true;
  }

  /** A key that opens nothing is not asked about: `opens` says it. */
  askedAt(app: string): number | null {
    return app === DEFAULT_APP ? null : (this.#grant?.askedAt ?? null);
  }

  readonly refresh = async (): Promise<void> => {
    this.#grant = await this.#keys.check(this.#key);
  };
}
