// Public information for the console before sign-in: an App's branding and sign-in settings. The console's
// Content-Security-Policy allows exactly the URLs in it.

import type { Page, PageSignIn } from "@colloquy/protocol";
import { discover } from "./users/issuer-keys.ts";
import { approvalTerms, type OperatorSettings, type TokenIssuer } from "../core/app-settings.ts";
import type { AppCatalog, AppDefinition } from "../core/ports/driven/apps.ts";
import type { Logger } from "../core/ports/driven/logger.ts";

type Provider = NonNullable<PageSignIn["provider"]>;

/** Age in milliseconds after which a discovery document is read again, in the background. */
const REFRESH_MS = 10 * 60_000;
/**
 * Minimum milliseconds between two reads of an issuer, including failed ones, because anyone can request the
 * page.
 */
const PACE_MS = 30_000;

/** Sources for the console's Content-Security-Policy: the exact token endpoints and images. */
export interface PageSources {
  readonly connect: readonly string[];
  readonly images: readonly string[];
}

export interface PublicPageOptions {
  readonly apps: AppCatalog;
  /** `null` if operators cannot sign in. */
  readonly operators: OperatorSettings | null;
  /** Returns monotonic time in milliseconds. */
  readonly now: () => number;
  readonly logger: Pick<Logger, "warn">;
}

function hasApprovers(app: AppDefinition | null): boolean {
  const entries = Object.values(app?.tools.approvals ?? {});
  return entries.some((entry) => approvalTerms(entry).approvers !== undefined);
}

/** Public information for pages before sign-in. */
export class PublicPage {
  readonly #options: PublicPageOptions;
  readonly #providers = new Map<string, KnownProvider>();

  constructor(options: PublicPageOptions) {
    this.#options = options;
  }

  /**
   * Returns the public settings of an App; for an unknown App, empty ones, so that callers cannot probe which
   * Apps exist.
   */
  async of(name: string): Promise<Omit<Page, "guide">> {
    const { apps, operators } = this.#options;
    const app = apps.get(name);
    const [sign_in, operator_sign_in] = await Promise.all([
      this.#signIn(app?.users ?? null),
      this.#signIn(operators),
    ]);
    return {
      app: name,
      branding: { ...app?.branding },
      wallets: this.#usesWallets(),
      requires_sign_in: app?.users?.required ?? false,
      ...(hasApprovers(app) && { has_approvers: true }),
      sign_in,
      operator_sign_in,
    };
  }

  /**
   * Returns the sources to allow in the console's Content-Security-Policy: the exact token endpoints and
   * images.
   */
  async allowed(): Promise<PageSources> {
    const all = this.#allApps();
    const issuers = [...all.map(({ users }) => users), this.#options.operators];
    const signIns = await Promise.all(issuers.map((issuer) => this.#signIn(issuer)));
    const endpoints = signIns.flatMap((signIn) => signIn?.provider?.token_endpoint ?? []);
    const brandings = all.flatMap(({ branding }) => branding ?? []);
    const hosts = brandings.flatMap(({ images }) => images?.hosts ?? []);
    const images = brandings
      .flatMap(({ logo, favicon, images }) =>
        [logo ?? [], favicon ?? [], images?.proxy?.split("{url}")[0] ?? []].flat(),
      )
      // Images given as a path are on this host, which the policy always allows.
      .filter((image) => !image.startsWith("/"));
    return {
      connect: [...new Set(endpoints.map(policySource))],
      images: [...new Set([...images.map(policySource), ...hosts.map((host) => `https://${host}`)])],
    };
  }

  /** Returns true if any App uses wallets. An answer for a single App would reveal whether the App exists. */
  #usesWallets(): boolean {
    return this.#allApps().some(({ tools, wallets }) => tools.wallet !== null || wallets === "proved");
  }

  #allApps() {
    const { apps } = this.#options;
    return apps.names().flatMap((name) => apps.get(name) ?? []);
  }

  async #signIn(issuer: TokenIssuer | null): Promise<PageSignIn | null> {
    if (issuer?.console === undefined) return null;
    const { clientId, scope, parameters } = issuer.console;
    return {
      issuer: issuer.issuer,
      client_id: clientId,
      scope,
      parameters: { ...parameters },
      // The audience of an ID token is the client (OpenID Connect Core 1.0 section 2), and that of an access
      // token is an API (RFC 9068 section 2.2).
      token: issuer.audience === clientId ? "id_token" : "access_token",
      provider: await this.#providerOf(issuer.issuer),
    };
  }

  #providerOf(issuer: string): Promise<Provider | null> {
    let known = this.#providers.get(issuer);
    if (known === undefined) {
      known = new KnownProvider(issuer, this.#options);
      this.#providers.set(issuer, known);
    }
    return known.current();
  }
}

/** Caches the endpoints of one issuer, also while the issuer is down. */
class KnownProvider {
  readonly #issuer: string;
  readonly #options: Pick<PublicPageOptions, "now" | "logger">;
  #provider: Provider | null = null;
  #triedAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;
  #hasFailed = false;

  constructor(issuer: string, options: Pick<PublicPageOptions, "now" | "logger">) {
    this.#issuer = issuer;
    this.#options = options;
  }

  /**
   * Returns the endpoints; `null` if the document has never been read. Waits only for the first read: the pages of all
   * Apps need every issuer.
   */
  async current(): Promise<Provider | null> {
    const age = this.#options.now() - this.#triedAt;
    const isDue = age >= (this.#provider === null || this.#hasFailed ? PACE_MS : REFRESH_MS);
    if (isDue && this.#reading === null) {
      this.#triedAt = this.#options.now();
      this.#reading = this.#read().finally(() => {
        this.#reading = null;
      });
    }
    if (this.#provider === null && !this.#hasFailed) await this.#reading;
    return this.#provider;
  }

  async #read(): Promise<void> {
    try {
      const { jwks_uri: _keys, issuer: _issuer, ...found } = await discover(this.#issuer);
      const { authorization_endpoint, token_endpoint } = found;
      if (authorization_endpoint === undefined || token_endpoint === undefined)
        throw new Error("The discovery document names no secure authorization_endpoint and token_endpoint");
      this.#provider = { ...found, authorization_endpoint, token_endpoint };
      this.#hasFailed = false;
    } catch (err) {
      // Log each outage once.
      if (!this.#hasFailed)
        this.#options.logger.warn(
          { err, issuer: this.#issuer },
          "could not read the discovery document; the console cannot sign in; check issuer",
        );
      this.#hasFailed = true;
    }
  }
}

/**
 * Returns the URL as a CSP source expression (CSP 3 section 2.3.1): without query, and with separators
 * escaped.
 */
function policySource(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname.replace(/[;,']/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)}`;
}
