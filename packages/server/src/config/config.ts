// The effective configuration from environment and file: validated, complete, frozen. Times are in milliseconds.

import type { EngineConfig } from "@colloquy/engine/internal/config/engine-config";
import type { OperatorSettings } from "@colloquy/engine/internal/core/app-settings";
import type { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { RateLimits } from "@colloquy/engine/internal/core/rate-limits";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Config extends EngineConfig {
  readonly server: ServerConfig;
  /** `COLLOQUY_SECRET_KEY`, which encrypts clients' secrets; `null` if it is not set. */
  readonly secretKey: Hidden<string> | null;
  /** First key for `/api/admin`. Without it and without `operators`, there is no admin API. */
  readonly adminKey: Hidden<string> | null;
  /** Tokens for `/api/admin`; `null` for none. */
  readonly operators: OperatorSettings | null;
  /** Settings of protocol plugins by name. */
  readonly protocols: Readonly<Record<string, Hidden<unknown>>>;
}

export interface ServerConfig {
  /** Name or address to bind to. */
  readonly host: string;
  /** True if `host` is a loopback address. Decides the `Host` check and CORS and, with `trustedProxies`, rate limits. */
  readonly loopback: boolean;
  /** Port to listen on; 0 picks a free one. */
  readonly port: number;
  /** Absolute path. */
  readonly dataDirectory: string;
  /** Accepted host names besides loopback names: lower case, no port or brackets. If empty, a public bind accepts any. */
  readonly allowedHosts: readonly string[];
  /** Hosts of the pages where users sign in with wallets, in lower case; those of `siwe.domains` or `COLLOQUY_PUBLIC_URL`. */
  readonly signInDomains: readonly string[];
  /** Addresses and CIDR ranges whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /** Origins as browsers send them, such as `https://app.example.com`; `*` for any. */
  readonly corsOrigins: readonly string[];
  /** `off` rejects listing threads with 403, because wallet addresses are public (contract section 4). */
  readonly walletListing: "on" | "off";
  readonly logLevel: LogLevel;
  /** Rate limits, which apply if the service is public. */
  readonly rateLimits: RateLimits;
}
