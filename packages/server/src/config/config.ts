// The effective configuration from environment and file: validated, complete, frozen. Times are in milliseconds.

import type { z } from "zod";
import type { AppSettings } from "../core/app-settings.ts";
import type { Hidden } from "../core/hidden.ts";
import type { RateLimits } from "../core/rate-limits.ts";
import type { LimitsSection, PROVIDER_KINDS, ProviderSection, RetentionSection } from "./file-schema.ts";
import type { Secrets } from "./secrets.ts";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type ProviderKind = (typeof PROVIDER_KINDS)[number];

export interface Config {
  readonly server: ServerConfig;
  /** By name; always includes `default`. */
  readonly apps: Readonly<Record<string, AppSettings>>;
  /** By the part of a rig before `/`. Includes every provider that an App's rigs name. */
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly limits: Readonly<z.output<typeof LimitsSection>>;
  readonly retention: Readonly<z.output<typeof RetentionSection>>;
  /** Never printed or serialized. */
  readonly secrets: Secrets;
  /** `COLLOQUY_SECRET_KEY`, which encrypts clients' secrets; `null` if it is not set. */
  readonly secretKey: Hidden<string> | null;
  /** URL of the PostgreSQL database that the nodes share; `null` for SQLite in the data directory. */
  readonly databaseUrl: Hidden<string> | null;
  /** Comma-separated URLs of NATS servers for notifications; `null` to use the database. Requires `databaseUrl`. */
  readonly natsUrl: Hidden<string> | null;
  /** Key for `/api/admin`; `null` disables the admin API. */
  readonly adminKey: Hidden<string> | null;
}

export interface ServerConfig {
  /** Name or address to bind to. */
  readonly host: string;
  /** True if `host` is a loopback address. Decides the `Host` check and CORS and, with `trustedProxies`, rate limits. */
  readonly loopback: boolean;
  /** 0 picks a free port. */
  readonly port: number;
  /** Absolute path. */
  readonly dataDirectory: string;
  /** Accepted host names besides loopback names: lower case, no port or brackets. If empty, a public bind accepts any. */
  readonly allowedHosts: readonly string[];
  /** Addresses and CIDR ranges whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /** Origins as browsers send them, such as `https://app.example.com`; `*` for any. */
  readonly corsOrigins: readonly string[];
  /** `off` rejects listing threads with 403, because wallet addresses are public (contract section 4). */
  readonly walletListing: "on" | "off";
  readonly logLevel: LogLevel;
  /** Enforced if the service is public. */
  readonly rateLimits: RateLimits;
}

/** Provider settings; its API key and headers are in `Config.secrets`. */
export interface ProviderConfig extends Pick<Section, "baseURL" | "maxRunningTurns" | "contextWindow"> {
  readonly kind: ProviderKind;
}

type Section = Readonly<z.output<typeof ProviderSection>>;
