// Verifies tokens with public keys from the configuration, or from the issuer (OpenID Connect Discovery 1.0, RFC 7517).

import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type CryptoKey,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
  type JWTPayload,
  jwtVerify,
  type RemoteJWKSet,
} from "jose";
import { z } from "zod";
import type { TokenIssuer, UserSettings } from "../../core/app-settings.ts";
import { Unavailable } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import { problemOf, type TokenProblem } from "./token-refusals.ts";

/**
 * Finds the key of a token. Rejects with an error of jose if there is none, and with another error if the
 * keys cannot be read.
 */
export type TokenKeys = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

/** Age of cached keys, in milliseconds, after which they are fetched again in the background. */
const REFRESH_MS = 10 * 60_000;
/** Minimum milliseconds between two fetches that unknown key ids cause. */
const COOLDOWN_MS = 30_000;
const TIMEOUT_MS = 5_000;

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

interface TokenKeysOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Pick<Logger, "warn">;
}

function createTokenKeys(
  { issuer, jwksUri, keys }: Pick<UserSettings, "issuer" | "jwksUri" | "keys">,
  options: TokenKeysOptions,
): TokenKeys {
  if (keys !== null) return createLocalJWKSet({ keys: [...keys] });
  let keySet: Promise<TokenKeys> | null = null;
  return async (header, token) => {
    keySet ??= (jwksUri === null ? discover(issuer) : Promise.resolve(jwksUri)).then((uri) =>
      remoteKeys(new URL(uri), options),
    );
    const reading = keySet;
    reading.catch(() => {
      // The next token tries again.
      if (keySet === reading) keySet = null;
    });
    return await (await reading)(header, token);
  };
}

/** Keys at a URL. They never expire here, so that tokens are accepted while the issuer is down. */
function remoteKeys(url: URL, { clock, logger }: TokenKeysOptions): TokenKeys {
  const keySet: RemoteJWKSet = createRemoteJWKSet(url, {
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: COOLDOWN_MS,
    timeoutDuration: TIMEOUT_MS,
  });
  let readAt = clock.monotonic();
  return (header, token) => {
    const now = clock.monotonic();
    if (now - readAt >= REFRESH_MS) {
      readAt = now;
      keySet.reload().catch((err: unknown) => {
        logger.warn(
          { err, url: url.href },
          "could not read the keys of sign-in tokens; using the cached ones",
        );
      });
    }
    return keySet(header, token);
  };
}

/** Returns the URL of the issuer's keys (OpenID Connect Discovery 1.0 section 4). */
async function discover(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(url, {
    headers: { accept: "application/json" },
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  const document = Discovery.parse(await response.json());
  // Section 4.3: otherwise one issuer could impersonate another.
  if (document.issuer !== issuer)
    throw new Error(`${url} is the document of another issuer: ${document.issuer}`);
  return document.jwks_uri;
}

/** Maximum token length in characters. */
export const TOKEN_MAX = 16 * 1024;
/** Asymmetric algorithms only (RFC 8725 section 3.1): with a shared secret, anyone who can verify a token can forge one. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const RETRY_SECONDS = 5;

export interface TokenVerifierOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly logger: Pick<Logger, "warn">;
}

/** Verifies tokens (JWT, RFC 7519) with the keys of their issuers. */
export class TokenVerifier {
  readonly #options: TokenVerifierOptions;
  /** Keys by issuer settings. A reload creates new settings objects, and so drops the old keys. */
  readonly #keys = new WeakMap<TokenIssuer, TokenKeys>();

  constructor(options: TokenVerifierOptions) {
    this.#options = options;
  }

  /**
   * Returns the claims of a valid token of this issuer and audience, or why it is invalid.
   * @throws Unavailable 503 if the issuer's keys cannot be read
   */
  async verify(token: string, issuer: TokenIssuer): Promise<JWTPayload | TokenProblem> {
    const { clock, logger } = this.#options;
    if (token.length > TOKEN_MAX) return "token_too_long";
    let keys = this.#keys.get(issuer);
    if (keys === undefined) {
      keys = createTokenKeys(issuer, { clock, logger });
      this.#keys.set(issuer, keys);
    }
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: issuer.issuer,
        audience: issuer.audience,
        algorithms: ALGORITHMS,
        requiredClaims: ["exp", "sub"],
        currentDate: new Date(clock.now()),
      });
      return typeof payload.sub === "string" && payload.sub !== "" ? payload : "token_claim_missing";
    } catch (error) {
      const problem = problemOf(error);
      if (problem !== null) return problem;
      const detail = "The sign-in cannot be checked at the moment, because its issuer cannot be reached.";
      throw new Unavailable(503, "issuer_unavailable", detail, RETRY_SECONDS, error);
    }
  }
}
