// Keys and Apps as configured by a test.

import { APP_SCOPES, type KeyScope } from "../../core/key-scopes.ts";
import type { AppKeys, KeyGrant } from "../../core/ports/driving/key-service.ts";
import type { AppCatalog, AppDefinition } from "../../core/ports/driven/apps.ts";

/** App keys by their text; any text is allowed. */
export class InMemoryKeys implements AppKeys {
  readonly grants = new Map<string, readonly string[]>();
  /** Scopes of keys that have others than all of Apps. */
  readonly scopes = new Map<string, readonly KeyScope[]>();
  /** Keys that were checked, in order. */
  readonly checked: string[] = [];

  async check(key: string): Promise<KeyGrant | null> {
    this.checked.push(key);
    const apps = this.grants.get(key);
    const scopes = this.scopes.get(key) ?? APP_SCOPES;
    return apps === undefined
      ? null
      : { keyId: `id of ${key}`, apps: new Set(apps), scopes: new Set(scopes), askedAt: 0 };
  }
}

/** Apps with only a name, `requireKey` and `rateLimits`. */
export class InMemoryApps implements AppCatalog {
  readonly requireKey = new Map<string, "chat" | "all">([["default", "chat"]]);

  readonly rateLimits = new Map<string, AppDefinition["rateLimits"]>();

  names(): readonly string[] {
    return [...this.requireKey.keys()];
  }

  get(name: string): AppDefinition | null {
    const requireKey = this.requireKey.get(name);
    if (requireKey === undefined) return null;
    const rateLimits = this.rateLimits.get(name) ?? {};
    return {
      name,
      requireKey,
      rateLimits,
      models: ["demo/assistant"],
      descriptor: { name },
    } as Partial<AppDefinition> as AppDefinition;
  }
}
