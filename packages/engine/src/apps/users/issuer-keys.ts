// Public keys of issuers: from the configuration, from a URL, or by discovery (OpenID Connect Discovery 1.0, RFC
// 7517). Anybody can send tokens that name any issuer and key, so reads of an issuer are paced, failures included.

import { createLocalJWKSet, type CryptoKey, type FlattenedJWSInput, type JWSHeaderParameters } from "jose";
import { z } from "zod";
import type { TokenIssuer } from "../../core/app-settings.ts";
import { boundResponses } from "../../core/bounded-body.ts";
import { Unavailable } from "../../core/errors.ts";
import { isEncryptedOrLoopback } from "../../core/loopback.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";

/** Finds the key of a token. Rejects with an error of jose if there is none, or more than one. */
export type TokenKeys = (header?: JWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey>;

export interface KeySource {
  /** @throws Unavailable 503 if the keys have never been read */
  current(): Promise<TokenKeys>;
  /**
   * Returns keys that were read after these, or the same if it is too early to read them again.
   * @throws Unavailable 503 if they cannot be read
   */
  newerThan(keys: TokenKeys): Promise<TokenKeys>;
}

/** Age of cached keys, in milliseconds, after which they are read again in the background. */
const REFRESH_MS = 10 * 60_000;
/** Minimum milliseconds between the starts of two reads of an issuer. */
const PACE_MS = 30_000;
const TIMEOUT_MS = 5_000;
/** Maximum size of a discovery document, and of a key set. */
const MAX_BYTES = 1_024 * 1_024;
/** Maximum number of keys of an issuer: a token without `kid` is tried against each that suits it. */
const MAX_KEYS = 100;
/** Key types of asymmetric signatures (RFC 7518 section 6.1, RFC 8037). */
const KEY_TYPES: readonly unknown[] = ["RSA", "EC", "OKP"];

const endpoint = z.string().refine((uri) => {
  const url = URL.parse(uri);
  return url !== null && isEncryptedOrLoopback(url);
}, "must be an https URL, or an http URL of this machine");
const Discovery = z.object({
  issuer: z.string(),
  jwks_uri: endpoint,
  authorization_endpoint: endpoint.optional().catch(undefined),
  token_endpoint: endpoint.optional().catch(undefined),
  end_session_endpoint: endpoint.optional().catch(undefined),
  id_token_signing_alg_values_supported: z.array(z.string()).optional().catch(undefined),
  authorization_response_iss_parameter_supported: z.boolean().optional().catch(undefined),
});
const KeySet = z.object({ keys: z.array(z.unknown()) });

export interface KeySourceOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Pick<Logger, "warn">;
}

export class KeySources {
  readonly #options: KeySourceOptions;
  readonly #configured = new WeakMap<TokenIssuer, KeySource>();
  /** By issuer and URL, so that Apps of one issuer share its reads. */
  readonly #remote = new Map<string, RemoteKeys>();

  constructor(options: KeySourceOptions) {
    this.#options = options;
  }

  of(issuer: TokenIssuer): KeySource {
    if (issuer.keys !== null) return this.#ofConfigured(issuer, issuer.keys);
    const id = JSON.stringify([issuer.issuer, issuer.jwksUri]);
    let source = this.#remote.get(id);
    if (source === undefined) {
      source = new RemoteKeys(issuer, this.#options);
      this.#remote.set(id, source);
    }
    return source;
  }

  #ofConfigured(issuer: TokenIssuer, keys: NonNullable<TokenIssuer["keys"]>): KeySource {
    let source = this.#configured.get(issuer);
    if (source === undefined) {
      const local = createLocalJWKSet({ keys: [...keys] });
      source = { current: () => Promise.resolve(local), newerThan: () => Promise.resolve(local) };
      this.#configured.set(issuer, source);
    }
    return source;
  }
}

/** Keys that an issuer publishes. They never expire here, so that tokens are accepted while the issuer is down. */
class RemoteKeys implements KeySource {
  readonly #issuer: string;
  readonly #jwksUri: string | null;
  readonly #options: KeySourceOptions;
  #keys: TokenKeys | null = null;
  /** Time of the last successful read. */
  #readAt = 0;
  /** Start of the last read. */
  #triedAt = Number.NEGATIVE_INFINITY;
  /** Reason why the last read failed; `null` if it succeeded. */
  #failure: unknown = null;
  #reading: Promise<TokenKeys> | null = null;

  constructor({ issuer, jwksUri }: TokenIssuer, options: KeySourceOptions) {
    this.#issuer = issuer;
    this.#jwksUri = jwksUri;
    this.#options = options;
  }

  async current(): Promise<TokenKeys> {
    if (this.#keys === null) return await this.#read();
    if (this.#options.clock.monotonic() - this.#readAt >= REFRESH_MS) this.#read().catch(() => undefined);
    return this.#keys;
  }

  async newerThan(keys: TokenKeys): Promise<TokenKeys> {
    return this.#keys === null || this.#keys === keys ? await this.#read() : this.#keys;
  }

  /** Reads the keys, or joins a read under way. Within the pace of the last read, its result stands. */
  async #read(): Promise<TokenKeys> {
    const now = this.#options.clock.monotonic();
    const waitMs = this.#triedAt + PACE_MS - now;
    if (this.#reading === null && waitMs > 0) {
      if (this.#failure === null && this.#keys !== null) return this.#keys;
      throw unavailable(this.#failure, waitMs);
    }
    this.#reading ??= this.#readNow(now).finally(() => {
      this.#reading = null;
    });
    return await this.#reading;
  }

  async #readNow(now: number): Promise<TokenKeys> {
    const { logger, clock } = this.#options;
    this.#triedAt = now;
    try {
      // Discovery each time: a URL that was wrong, or has moved, must not stay.
      const keys = await readKeys(this.#jwksUri ?? (await discover(this.#issuer)).jwks_uri);
      if (keys.length > MAX_KEYS) {
        logger.warn(
          { issuer: this.#issuer, keys: keys.length },
          `the issuer has too many keys; using the first ${MAX_KEYS}`,
        );
      }
      this.#keys = createLocalJWKSet({ keys: keys.slice(0, MAX_KEYS) });
      this.#readAt = clock.monotonic();
      this.#failure = null;
      return this.#keys;
    } catch (err) {
      // One line for each outage, not for each read.
      if (this.#failure === null) {
        logger.warn(
          { err, issuer: this.#issuer },
          "could not read the keys of sign-in tokens; check issuer and jwksUri",
        );
      }
      this.#failure = err;
      throw unavailable(err, PACE_MS);
    }
  }
}

function unavailable(cause: unknown, waitMs: number): Unavailable {
  const detail =
    "The sign-in cannot be checked at the moment, because the keys of its issuer cannot be read.";
  return new Unavailable(503, "issuer_unavailable", detail, Math.ceil(waitMs / 1_000), cause);
}

/** Reads the issuer's discovery document (OpenID Connect Discovery 1.0 section 4). */
export async function discover(issuer: string): Promise<z.infer<typeof Discovery>> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const document = Discovery.parse(await fetchJson(url));
  // Section 4.3: the issuer must match, so that one cannot impersonate another.
  if (document.issuer !== issuer)
    throw new Error(`${url} is the document of another issuer: ${document.issuer}`);
  return document;
}

/** Returns the keys that may verify signatures. An unusable key does not affect the others. */
async function readKeys(url: string): Promise<Jwk[]> {
  const { keys } = KeySet.parse(await fetchJson(url));
  return keys.map(withoutNulls).filter(isForSignatures);
}

interface Jwk {
  readonly kty: string;
  readonly [member: string]: unknown;
}

function withoutNulls(key: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(key ?? {}).filter(([, value]) => value !== null));
}

function isForSignatures(key: Readonly<Record<string, unknown>>): key is Jwk {
  return KEY_TYPES.includes(key["kty"]) && (key["use"] === undefined || key["use"] === "sig");
}

async function fetchJson(url: string): Promise<unknown> {
  const tooLarge = (): Error => new Error(`${url} answers more than ${MAX_BYTES} bytes`);
  const response = await boundResponses(fetch, () => ({ maxBytes: MAX_BYTES, tooLarge }))(url, {
    headers: { accept: "application/json, application/jwk-set+json" },
    // A redirect could lead to an address that the operator did not choose.
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.ok) return await response.json();
  await response.body?.cancel();
  throw new Error(`${url} answers ${response.status}`);
}
