// What the environment and the configuration file come to: checked, complete, frozen. Times are milliseconds.

import type { AppSettings } from "../core/app-settings.ts";
import type { Hidden } from "../core/hidden.ts";
import type { Secrets } from "./secrets.ts";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const PROVIDER_KINDS = ["demo", "openai", "anthropic", "google", "openai-compatible"] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

export interface Config {
  readonly server: ServerConfig;
  /** By name; `default` is always there. */
  readonly apps: Readonly<Record<string, AppSettings>>;
  /** By the name that stands before the `/` in a rig. Every provider that an App's rig names is here. */
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly limits: LimitsConfig;
  readonly retention: RetentionConfig;
  /** Never printed, whatever prints the rest. */
  readonly secrets: Secrets;
  /** `COLLOQUY_SECRET_KEY` as it stands in the environment: the key that clients' secrets are sealed with; `null` when it is not set. */
  readonly secretKey: Hidden<string> | null;
  /** Where the PostgreSQL database is that this node has in common with others; `null` for SQLite in the data directory. */
  readonly databaseUrl: Hidden<string> | null;
  /** Where the NATS servers are that carry notes between nodes, one or several with commas; `null` for the database itself. Never without a database. */
  readonly natsUrl: Hidden<string> | null;
  /** What opens `/api/admin`; `null` where there is no such area. */
  readonly adminKey: Hidden<string> | null;
}

export interface ServerConfig {
  /** Name or address to bind to. */
  readonly host: string;
  /** Whether that is an address of this machine only; decides about `Host` check and CORS, and with `trustedProxies` about rate limits. */
  readonly loopback: boolean;
  /** 0 takes a free port. */
  readonly port: number;
  /** Absolute path. */
  readonly dataDirectory: string;
  /** Host names (in lower case, without port and brackets) that are served on a loopback bind beside loopback names. */
  readonly allowedHosts: readonly string[];
  /** Addresses and CIDR ranges whose `X-Forwarded-For` counts. */
  readonly trustedProxies: readonly string[];
  /** Origins as browsers send them, such as `https://app.example.com`; `*` for any. */
  readonly corsOrigins: readonly string[];
  /** `off` answers 403 to the list of threads, because a wallet address is no secret (contract section 4). */
  readonly walletListing: "on" | "off";
  readonly logLevel: LogLevel;
}

/** Its API key and headers are among the secrets. */
export interface ProviderConfig {
  readonly kind: ProviderKind;
  /** Where its server is; always there for `openai-compatible`, else absent for the provider's own. */
  readonly baseURL?: string;
  /** How many turns may run on it at a time in this process; absent for as many as `limits.maxRunning`. */
  readonly maxRunningTurns?: number;
  /** Tokens that fit its models, prompt and answer together; absent for what is known of each model. */
  readonly contextWindow?: number;
}

export interface LimitsConfig {
  /** A turn may run this long, without the time it waits for a person. */
  readonly turnMs: number;
  /** A turn fails after this long without text or a tool's result. */
  readonly idleMs: number;
  /** Model steps of a turn. */
  readonly maxSteps: number;
  /** A tool call may take this long. */
  readonly toolMs: number;
  /** Messages of a session that may wait behind the running turn. */
  readonly maxQueued: number;
  /** Turns that run in this process at a time. */
  readonly maxRunning: number;
  /** Turns that may wait in the store before chats are answered with 503. */
  readonly maxWaiting: number;
  /** Snapshots of live sessions kept in memory, in bytes. */
  readonly memoryBytes: number;
  /** A session leaves memory after this long without use. */
  readonly idleMemoryMs: number;
  /** How often a model call is tried again when the provider calls its failure retryable. */
  readonly maxModelRetries: number;
  /** A person who was asked for a decision has this long; then it counts as denied. */
  readonly actionMs: number;
}

/** A session keeps this many of its events, or those that are younger than this, whichever is more. */
export interface RetentionConfig {
  readonly events: number;
  readonly eventMs: number;
}
