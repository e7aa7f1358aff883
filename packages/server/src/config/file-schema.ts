// Schema of the configuration file (contract section 4). Checks across settings (a rig's provider, a provider's key, a
// slot that a header names) are elsewhere: zod skips such refinements if anything else is invalid, and all problems
// must be reported at once.

import { z } from "zod";
import { appSection, OperatorsSection } from "@colloquy/engine/internal/config/app-schema";
import {
  ChainSection,
  LimitsSection,
  providerSection,
  RetentionSection,
} from "@colloquy/engine/internal/config/sections";
import { backendSection, filesSection, transportSection } from "@colloquy/engine/internal/config/backends";
import type { Plugin } from "@colloquy/engine/internal/core/plugins/plugin";
import { DEFAULT_RATE_LIMITS } from "@colloquy/engine/internal/core/rate-limits";
import { protocolSections } from "./protocols.ts";
import { APP_RATE_LIMITS, rate, shortName } from "@colloquy/engine/internal/config/schema-parts";

const RATES = DEFAULT_RATE_LIMITS;

export const RateLimitsSection = z.strictObject({
  chatsPerMinute: APP_RATE_LIMITS.chatsPerMinute.default(RATES.chatsPerMinute),
  keyChatsPerMinute: APP_RATE_LIMITS.keyChatsPerMinute.default(RATES.keyChatsPerMinute),
  newSessionsPerMinute: rate
    .default(RATES.newSessionsPerMinute)
    .describe(
      "New sessions a minute per address. With an App key: per `client_id`, and a hundred times as many per key.",
    ),
  readsPerMinute: rate
    .default(RATES.readsPerMinute)
    .describe("Requests under `/api` a minute per process and address, without administration."),
  sessionReadsPerMinute: rate
    .default(RATES.sessionReadsPerMinute)
    .describe("Requests a minute per process and session."),
  writesPerMinute: rate
    .default(RATES.writesPerMinute)
    .describe("Changes a minute per address, without messages and secrets."),
  sessionWritesPerMinute: rate.default(RATES.sessionWritesPerMinute).describe("The same per session."),
  writtenBytesPerMinute: APP_RATE_LIMITS.writtenBytesPerMinute.default(RATES.writtenBytesPerMinute),
  appWrittenBytesPerMinute: APP_RATE_LIMITS.appWrittenBytesPerMinute.default(RATES.appWrittenBytesPerMinute),
  streamsPerAddress: rate
    .default(RATES.streamsPerAddress)
    .describe("Open event streams per address. With an App key: a hundred times as many per key."),
  streamsPerSession: rate.default(RATES.streamsPerSession).describe("Open event streams per session."),
  connectionsPerAddress: rate
    .default(RATES.connectionsPerAddress)
    .describe("Open connections per process and address, without those of trusted proxies."),
  bodyBytesPerAddress: rate
    .default(RATES.bodyBytesPerAddress)
    .describe(
      "Bytes of request bodies that arrive at the same time, per process and address, by `Content-Length`. One body always passes.",
    ),
});

export const CorsSection = z.strictObject({
  origins: z
    .array(
      z
        .string()
        .refine(
          isOrigin,
          "must be an origin as browsers send it: scheme, host and port alone, such as https://app.example.com, or * for any",
        ),
    )
    .describe(
      "Origins whose pages may call the service, such as `https://app.example.com`, or `*` for any. Its own may always, and on a loopback address every loopback origin.",
    ),
});

export const SignInSection = z.strictObject({
  domains: z
    .array(
      z
        .string()
        .regex(
          /^[a-zA-Z0-9.-]{1,253}(:[0-9]{1,5})?$/,
          "must be the host of a page, with a port only if its URL has one, such as app.example.com",
        )
        .transform((domain) => domain.toLowerCase()),
    )
    .min(1, "must name at least one host")
    .optional()
    .describe(
      "Hosts of the pages where wallets sign in, such as `app.example.com`, with the port if their URL has one. Defaults to the host of `COLLOQUY_PUBLIC_URL`, or, on a loopback address without trusted proxies, to the host of the request.",
    ),
});

/** Package names or plugin objects, validated by `config/plugins.ts` of the engine. */
const PluginsSection = z
  .array(z.custom<string | Plugin>(() => true).meta({ type: "string", minLength: 1 }))
  .optional()
  .describe(
    "Plugins: packages by name, resolved from the folder of this file, whose default export is a plugin or a list of them. A module may list the plugins themselves.",
  );

/** Returns the schema of a file with these plugins. */
export const configFile = (plugins: readonly Plugin[]) =>
  z.strictObject({
    $schema: z.string().optional().describe("URL of the JSON Schema of this file, for editors."),
    plugins: PluginsSection,
    apps: z
      .record(shortName, appSection(plugins))
      .optional()
      .describe("Apps by name. `default` always exists and needs no key."),
    providers: z
      .record(shortName, providerSection(plugins))
      .optional()
      .describe("Model providers by name. Known ones need no entry."),
    chains: z
      .record(
        z.string().regex(/^[1-9][0-9]{0,14}$/, "must be the number of a chain, such as 1 for Ethereum"),
        ChainSection,
      )
      .optional()
      .describe(
        "Blockchains by chain id, for wallet tools and contract wallets. Anyone who controls a chain's server can sign in with every wallet: list only what you trust.",
      ),
    backend: backendSection(plugins)
      .optional()
      .describe(
        "Where conversations are kept. Defaults to SQLite in the data directory, or to the database that `COLLOQUY_DATABASE_URL` names.",
      ),
    transport: transportSection(plugins)
      .optional()
      .describe(
        "What carries notifications between nodes that share a backend. Defaults to the servers that `COLLOQUY_NATS_URL` names, or to the database itself.",
      ),
    files: filesSection(plugins)
      .optional()
      .describe(
        "Where the bytes of files are kept. Defaults to the directory `files` in the data directory.",
      ),
    operators: OperatorsSection.optional().describe("Sign-in of operators, for the whole admin API."),
    ...protocolSections(plugins),
    siwe: SignInSection.prefault({}).describe("Sign-in with wallets (EIP-4361)."),
    cors: CorsSection.default({ origins: [] }).describe("Cross-origin access (CORS)."),
    walletListing: z
      .enum(["on", "off"])
      .default("on")
      .describe(
        "Whether the threads of a wallet can be listed. Addresses are public: whoever reaches the service can list and open the threads of any, unless Apps demand proof.",
      ),
    limits: LimitsSection.prefault({}).describe("Limits of turns, tools, memory and queues."),
    rateLimits: RateLimitsSection.prefault({}).describe("Rate limits, enforced if the service is public."),
    retention: RetentionSection.prefault({}).describe(
      "How long events and audit entries are kept. A session keeps its last `events` events or those younger than `eventMs`, whichever is more, at most 8 MiB.",
    ),
  });

/** A valid file with its defaults filled in. */
export type ConfigFile = z.output<ReturnType<typeof configFile>>;

function isOrigin(value: string): boolean {
  if (value === "*") return true;
  const url = URL.parse(value);
  // All local files and sandboxed pages send the origin "null": allowing it would allow anyone.
  return url !== null && url.origin === value && value !== "null";
}
