// Schema of the configuration file (contract section 4). Checks across settings (a rig's provider, a provider's key, a
// slot that a header names) are elsewhere: zod skips such refinements if anything else is invalid, and all problems
// must be reported at once.

import { z } from "zod";
import { AppSection } from "./app-schema.ts";
import { PROVIDER_KINDS } from "./config.ts";
import {
  APP_RATE_LIMITS,
  BASE_URL_RULE,
  count,
  headers,
  isBaseURL,
  period,
  rate,
  shortName,
  text,
  timer,
} from "./schema-parts.ts";

export const ProviderSection = z.strictObject({
  kind: z.enum(PROVIDER_KINDS).optional(),
  baseURL: z.string().refine(isBaseURL, BASE_URL_RULE).meta({ pattern: "^https?://" }).optional(),
  apiKeyEnv: z
    .string()
    .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, "must be the name of an environment variable, not a key")
    .optional(),
  headers: headers.optional(),
  maxRunningTurns: count(1, 100_000).optional(),
  contextWindow: count(1_000, 100_000_000).optional(),
});

export const ChainSection = z.strictObject({
  name: text,
  /** May begin with a placeholder, so chains.ts validates the URL after filling it in. */
  rpcURL: text,
  currency: z.strictObject({ symbol: text, decimals: count(0, 36) }).optional(),
  contracts: z
    .record(
      z.string().regex(/^[a-zA-Z][a-zA-Z0-9]{0,63}$/, "must be viem's name for a contract"),
      z.strictObject({
        address: z.string().regex(/^0x[0-9a-fA-F]{40}$/, "must be an address: 0x and 40 hexadecimal digits"),
        blockCreated: z.int().min(0).optional(),
      }),
    )
    .optional(),
});

export const LimitsSection = z.strictObject({
  turnMs: timer.optional(),
  idleMs: timer.optional(),
  maxSteps: count(1, 1000).optional(),
  toolMs: timer.optional(),
  maxQueued: count(0, 1000).optional(),
  sessionBytes: count(64 * 1024, 1024 * 1024 * 1024).optional(),
  maxRunning: count(1, 100_000).optional(),
  maxWaiting: count(1, 10_000_000).optional(),
  memoryBytes: count(1024 * 1024, Number.MAX_SAFE_INTEGER).optional(),
  idleMemoryMs: timer.optional(),
  maxModelRetries: count(0, 20).optional(),
  actionMs: timer.optional(),
});

export const RateLimitsSection = z.strictObject({
  ...APP_RATE_LIMITS,
  newSessionsPerMinute: rate.optional(),
  readsPerMinute: rate.optional(),
  sessionReadsPerMinute: rate.optional(),
  writesPerMinute: rate.optional(),
  sessionWritesPerMinute: rate.optional(),
  streamsPerAddress: rate.optional(),
  streamsPerSession: rate.optional(),
  connectionsPerAddress: rate.optional(),
});

export const RetentionSection = z.strictObject({
  events: count(1, 1_000_000).optional(),
  eventMs: period.optional(),
});

export const ConfigFile = z.strictObject({
  $schema: z.string().optional(),
  apps: z.record(shortName, AppSection).optional(),
  providers: z.record(shortName, ProviderSection).optional(),
  chains: z
    .record(
      z.string().regex(/^[1-9][0-9]{0,14}$/, "must be the number of a chain, such as 1 for Ethereum"),
      ChainSection,
    )
    .optional(),
  cors: z
    .strictObject({
      origins: z.array(
        z
          .string()
          .refine(
            isOrigin,
            "must be an origin as browsers send it: scheme, host and port alone, such as https://app.example.com, or * for any",
          ),
      ),
    })
    .optional(),
  walletListing: z.enum(["on", "off"]).optional(),
  limits: LimitsSection.optional(),
  rateLimits: RateLimitsSection.optional(),
  retention: RetentionSection.optional(),
});

export type ConfigFile = z.infer<typeof ConfigFile>;

function isOrigin(value: string): boolean {
  if (value === "*") return true;
  const url = URL.parse(value);
  // All local files and sandboxed pages send the origin "null": allowing it would allow anyone.
  return url !== null && url.origin === value && value !== "null";
}
