// The effective configuration from environment and file: validated, complete, frozen. Times are in milliseconds.

import type { AppSettings } from "../core/app-settings.ts";
import type { Hidden } from "../core/hidden.ts";
import type { RateLimits } from "../core/rate-limits.ts";
import type { Secrets } from "./secrets.ts";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const PROVIDER_KINDS = ["demo", "openai", "anthropic", "google", "openai-compatible"] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

export interface Config {
  readonly server: ServerConfig;
  /** By name; always includes `default`. */
  readonly apps: Readonly<Record<string, AppSettings>>;
  /** By the part of a rig before `/`. Includes every provider that an App's rigs name. */
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly limits: LimitsConfig;
  readonly retention: RetentionConfig;
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
export interface ProviderConfig {
  readonly kind: ProviderKind;
  /** Base URL; required for `openai-compatible`, otherwise defaults to the provider's own. */
  readonly baseURL?: string;
  /** Maximum concurrent turns of this process on the provider; defaults to `limits.maxRunning`. */
  readonly maxRunningTurns?: number;
  /** Context window in tokens, prompt and answer together; defaults to the known size of each model. */
  readonly contextWindow?: number;
}

export interface LimitsConfig {
  /** Maximum duration of a turn, excluding time spent waiting for a decision. */
  readonly turnMs: number;
  /** A turn fails after this long without text or a tool result. */
  readonly idleMs: number;
  /** Maximum steps of a turn. */
  readonly maxSteps: number;
  /** Maximum duration of a tool call. */
  readonly toolMs: number;
  /** Maximum messages of a session queued behind the running turn. */
  readonly maxQueued: number;
  /** UTF-8 bytes of messages in a session beyond which chats are rejected. */
  readonly sessionBytes: number;
  /** Maximum concurrent turns of this process. */
  readonly maxRunning: number;
  /** Waiting turns in the store beyond which chats are rejected with 503. */
  readonly maxWaiting: number;
  /** Memory for the snapshots of live sessions, in bytes. */
  readonly memoryBytes: number;
  /** Idle time after which a session is evicted from memory. */
  readonly idleMemoryMs: number;
  /** Maximum retries of a model call whose failure the provider marks as retryable. */
  readonly maxModelRetries: number;
  /** Time limit for deciding an action, after which it counts as denied. */
  readonly actionMs: number;
}

/** A session keeps its last `events` events or those younger than `eventMs`, whichever is more. */
export interface RetentionConfig {
  readonly events: number;
  readonly eventMs: number;
}
