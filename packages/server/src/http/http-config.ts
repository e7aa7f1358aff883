import type { RateLimits } from "../core/rate-limits.ts";

/** What the edge needs to know about where and how the service is run; a part of the service's configuration. */
export interface HttpConfig {
  /**
   * Whether the server is bound to a loopback address: opens it to loopback origins, closes it to foreign host names and, where no proxy
   * is trusted, lifts the rate limits (contract section 6).
   */
  readonly loopback: boolean;
  /** Origins whose pages may call, as browsers send them (`https://app.example.com`); `*` for any. */
  readonly corsOrigins: readonly string[];
  /** Host names without port that are answered besides loopback names. Where there are none, a bind beyond loopback answers to any. */
  readonly allowedHosts: readonly string[];
  /** Addresses and CIDR ranges whose `X-Forwarded-For` counts. Where there are any, clients come from elsewhere: see `isPublic`. */
  readonly trustedProxies: readonly string[];
  /** Held where the service is public: see `isPublic`. */
  readonly rateLimits: RateLimits;
}

/** Milliseconds for which a connection is kept for the next request: longer than the 60 s after which common proxies drop theirs. */
export const KEEP_ALIVE_MS = 72_000;
