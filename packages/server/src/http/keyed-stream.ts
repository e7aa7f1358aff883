import type { AppKeys, KeyGrant } from "../core/ports/driving/key-service.ts";
import type { StreamAccess } from "../core/ports/driving/services.ts";
import { DEFAULT_APP } from "../core/session.ts";

/** Access of an event stream with a key, which is checked repeatedly. */
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
    if (app === DEFAULT_APP) return true;
    return this.#grant?.apps.has(app) === true && this.#grant.scopes.has("read");
  }

  /** `null` for the default App, which needs no key. */
  askedAt(app: string): number | null {
    return app === DEFAULT_APP ? null : (this.#grant?.askedAt ?? null);
  }

  readonly refresh = async (): Promise<void> => {
    this.#grant = await this.#keys.check(this.#key);
  };
}
