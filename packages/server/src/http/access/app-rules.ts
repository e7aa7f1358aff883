// What Apps require of callers: keys, users, and proof of wallets.

import type { AppCatalog, AppDefinition } from "@colloquy/engine/internal/core/ports/driven/apps";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";

/** Matches pseudonyms: SHA-256 digests in base64url. */
const PSEUDONYM = /^[\w-]{43}$/;

/**
 * Takes unvalidated names. Unknown Apps behave like Apps without users, so that callers cannot probe which
 * Apps exist.
 */
export class AppRules {
  readonly #apps: AppCatalog;
  readonly #proved: readonly string[];

  constructor(apps: AppCatalog) {
    this.#apps = apps;
    this.#proved = apps.names().filter((app) => apps.get(app)?.wallets === "proved");
  }

  names(): readonly string[] {
    return this.#apps.names();
  }

  /** Returns true if the App evaluates user tokens. */
  takesTokens(app: unknown): boolean {
    const settings = this.#settingsOf(app);
    return settings !== null && (settings.users !== null || settings.wallets === "proved");
  }

  hasUsers(app: unknown): boolean {
    return (this.#settingsOf(app)?.users ?? null) !== null;
  }

  /** Returns true if the App admits only signed-in users. */
  requiresUser(app: unknown): boolean {
    return this.#settingsOf(app)?.users?.required === true;
  }

  /** Returns true if the App's users may claim sessions without an owner. */
  permitsClaims(app: string): boolean {
    return this.#settingsOf(app)?.users?.claimSessions === true;
  }

  /**
   * Returns true if every request on a session of the App requires its key, also if the App has been removed.
   */
  requiresKey(app: string): boolean {
    if (app === DEFAULT_APP) return false;
    const settings = this.#settingsOf(app);
    return settings === null || settings.requireKey === "all";
  }

  /**
   * Returns true if a client id may be the pseudonym of one of the App's users, which anyone can compute from
   * issuer and subject.
   */
  mayBeUser(clientId: string, app: string): boolean {
    return PSEUDONYM.test(clientId) && this.takesTokens(app);
  }

  /** Returns the Apps that require proof of wallets. */
  provedApps(): readonly string[] {
    return this.#proved;
  }

  #settingsOf(app: unknown): AppDefinition | null {
    return typeof app === "string" ? this.#apps.get(app) : null;
  }
}
