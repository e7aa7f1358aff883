// Keys and Apps as configured by a test.

import type { UserSettings } from "../../core/app-settings.ts";
import { ServiceError } from "../../core/errors.ts";
import { APP_SCOPES, type KeyScope } from "../../core/key-scopes.ts";
import type { AppKeys, KeyGrant, UserGrant, UserTokens } from "../../core/ports/driving/credentials.ts";
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
      : { keyId: `id of ${key}`, name: null, apps: new Set(apps), scopes: new Set(scopes), askedAt: 0 };
  }
}

/** Users' tokens by their text; any text is allowed. */
export class InMemoryUsers implements UserTokens {
  readonly grants = new Map<string, UserGrant | ServiceError>();
  readonly revoked: string[] = [];

  get areUsed(): boolean {
    return this.grants.size > 0;
  }

  check(token: string): UserGrant | ServiceError {
    return this.grants.get(token) ?? new ServiceError(401, "token_malformed", "Not a token of the test.");
  }

  async revoke(token: string): Promise<void> {
    this.revoked.push(token);
  }

  ownerOf(issuer: string, subject: string): string {
    return `${subject} of ${issuer}`;
  }
}

/** Apps with only a name, `requireKey`, `users` and `rateLimits`. */
export class InMemoryApps implements AppCatalog {
  readonly requireKey = new Map<string, "chat" | "all">([["default", "chat"]]);

  readonly rateLimits = new Map<string, AppDefinition["rateLimits"]>();

  readonly users = new Map<string, UserSettings>();

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
      users: this.users.get(name) ?? null,
      rateLimits,
      models: ["demo/assistant"],
      descriptor: { name },
    } as Partial<AppDefinition> as AppDefinition;
  }
}
