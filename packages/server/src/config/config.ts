// The effective configuration from environment and file: validated, complete, frozen. Times are in milliseconds.

import type { z } from "zod";
import type { AppSettings, ChainSettings, OperatorSettings } from "../core/app-settings.ts";
import type { Hidden } from "../core/hidden.ts";
import type { Proxies } from "../core/proxies.ts";
import type { RateLimits } from "../core/rate-limits.ts";
import type { LimitsSection, PROVIDER_KINDS, ProviderSection, RetentionSection } from "./file-schema.ts";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type ProviderKind = (typeof PROVIDER_KINDS)[number];

export interface Config {
  readonly server: ServerConfig;
  /** Apps by name; always includes `default`. */
  readonly apps: Readonly<Record<string, AppSettings>>;
  /** Configured blockchains, in the order of the file. */
  readonly chains: readonly ChainSettings[];
  /** Providers by the part of a rig before `/`. Includes every provider that an App's rigs name. */
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly limits: Readonly<z.output<typeof LimitsSection>>;
  readonly retention: Readonly<z.output<typeof RetentionSection>>;
  /** Secrets by provider name. */
  readonly secrets: Hidden<Readonly<Record<string, ProviderSecrets>>>;
  /** `COLLOQUY_SECRET_KEY`, which encrypts clients' secrets; `null` if it is not set. */
  readonly secretKey: Hidden<string> | null;
  /** URL of the PostgreSQL database that the nodes share; `null` for SQLite in the data directory. */
  readonly databaseUrl: Hidden<string> | null;
  /** Comma-separated URLs of NATS servers for notifications; `null` to use the database. Requires `databaseUrl`. */
  readonly natsUrl: Hidden<string> | null;
  /** Proxies for requests to models, tools, issuers and chains. */
  readonly proxies: Proxies;
  /** First key for `/api/admin`. Without it and without `operators`, there is no admin API. */
  readonly adminKey: Hidden<string> | null;
  /** Tokens for `/api/admin`; `null` for none. */
  readonly operators: OperatorSettings | null;
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

export interface ProviderSecrets {
  /** `null` for a server without a key. */
  readonly apiKey: string | null;
  /** Header fields sent with every request. They may contain a key, so all of them are secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Provider settings; its API key and headers are in `Config.secrets`. */
export interface ProviderConfig extends Pick<Section, "baseURL" | "maxRunningTurns" | "contextWindow"> {
  readonly kind: ProviderKind;
}

type Section = Readonly<z.output<typeof ProviderSection>>;

// Settings that a reload cannot change, because they are applied once at startup. The environment is also read once.

/** Names that differ in the configuration file, by setting of `Config.server`. */
const FILE_NAMES: Readonly<Record<string, string>> = {
  corsOrigins: "cors.origins",
  signInDomains: "siwe.domains",
};

/** Returns a warning for each setting of `next` that differs from `started` and needs a restart to take effect. */
export function restartWarnings(started: Config, next: Config): readonly string[] {
  const settings = [
    ...differences(started.server, next.server).map((name) => FILE_NAMES[name] ?? name),
    ...differences({ operators: started.operators }, { operators: next.operators }),
    ...differences(signInChains(started), signInChains(next)),
    ...differences(started.limits, next.limits).map((name) => `limits.${name}`),
    ...differences(started.retention, next.retention).map((name) => `retention.${name}`),
    ...differences(turnSlots(started), turnSlots(next)).map((name) => `providers.${name}.maxRunningTurns`),
  ];
  return settings.map(
    (setting) =>
      `${setting} has changed. Restart the service to apply it; until then the old value stays in force.`,
  );
}

/** Chains of the sign-in with wallets; wallet tools get theirs with their App. */
function signInChains({ chains }: Config): Readonly<Record<string, string>> {
  return Object.fromEntries(
    chains.map(({ id, rpcURL }) => [`chains.${id} (for the sign-in with wallets)`, rpcURL.reveal()]),
  );
}

function turnSlots({ providers }: Config): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(
    Object.entries(providers).map(([name, { maxRunningTurns }]) => [name, maxRunningTurns]),
  );
}

/** Returns the names of the settings that differ; absent equals undefined. */
function differences(before: object, after: object): string[] {
  const [old, current] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = new Set([...old.keys(), ...current.keys()]);
  return [...names].filter((name) => JSON.stringify(old.get(name)) !== JSON.stringify(current.get(name)));
}
