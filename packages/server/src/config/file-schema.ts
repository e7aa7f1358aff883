// Schema of the configuration file (contract section 4). Checks across settings (a rig's provider, a provider's key, a
// slot that a header names) are elsewhere: zod skips such refinements if anything else is invalid, and all problems
// must be reported at once.

import { z } from "zod";
import { AppSection, OperatorsSection } from "./app-schema.ts";
import { DEFAULT_RATE_LIMITS } from "../core/rate-limits.ts";
import {
  APP_RATE_LIMITS,
  baseURL,
  count,
  headers,
  days,
  period,
  rate,
  shortName,
  text,
  timer,
} from "./schema-parts.ts";

export const PROVIDER_KINDS = ["demo", "openai", "anthropic", "google", "openai-compatible"] as const;

export const ProviderSection = z.strictObject({
  kind: z
    .enum(PROVIDER_KINDS)
    .optional()
    .describe(
      "`openai`, `anthropic`, `google`, `demo` or `openai-compatible` (Ollama, vLLM, LM Studio, a gateway). Optional if the provider has the name of a kind.",
    ),
  baseURL: baseURL
    .optional()
    .describe(
      "Base URL of its API, without `/chat/completions`. Required for `openai-compatible`; others default to a variable such as `OPENAI_BASE_URL`, which `apiKeyEnv` turns off, or to the provider's own.",
    ),
  apiKeyEnv: z
    .string()
    .regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, "must be the name of an environment variable, not a key")
    .optional()
    .describe(
      "Name of the environment variable with its key. Defaults to the usual one; `openai-compatible` may have none.",
    ),
  headers: headers
    .optional()
    .describe("Header fields sent with every request; never printed. May have `{{env.NAME}}`."),
  maxRunningTurns: count(1, 100_000)
    .optional()
    .describe("Maximum concurrent turns of this process; defaults to `limits.maxRunning`."),
  contextWindow: count(1_000, 100_000_000)
    .optional()
    .describe(
      "Context window in tokens, prompt and answer together; history is cut to it. Defaults to the model's known size, or 8,192 for an unknown model of an `openai-compatible` server.",
    ),
});

const CurrencySection = z.strictObject({
  symbol: text.describe("Symbol, such as ETH."),
  decimals: count(0, 36).describe("Number of decimals, such as 18."),
});

const ContractSection = z.strictObject({
  address: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, "must be an address: 0x and 40 hexadecimal digits")
    .describe("Its address: 0x and 40 hexadecimal digits."),
  blockCreated: z.int().min(0).optional().describe("The block that created it."),
});

export const ChainSection = z.strictObject({
  name: text.describe("Display name."),
  // May begin with a placeholder, so app-tools.ts validates the URL after filling it in.
  rpcURL: text.describe("URL of its JSON-RPC server; never printed. May have `{{env.NAME}}`."),
  currency: CurrencySection.default({ symbol: "ETH", decimals: 18 }).describe("Native currency."),
  contracts: z
    .record(
      z.string().regex(/^[a-zA-Z][a-zA-Z0-9]{0,63}$/, "must be viem's name for a contract"),
      ContractSection,
    )
    .optional()
    .describe(
      'Contracts at other addresses, for test chains: `{ "address", "blockCreated"? }` by viem\'s name.',
    ),
});

const MINUTE = 60 * 1000;
const MIB = 1024 * 1024;

export const LimitsSection = z.strictObject({
  turnMs: timer
    .default(10 * MINUTE)
    .describe("Maximum duration of a turn over all its restarts, without waits for a person."),
  idleMs: timer.default(5 * MINUTE).describe("A turn fails after this long without text or a tool result."),
  maxSteps: count(1, 1000)
    .default(20)
    .describe("Maximum model calls of a turn, each with up to 128 tool calls."),
  toolMs: timer.default(MINUTE).describe("Maximum duration of a tool call."),
  maxQueued: count(0, 1000)
    .default(10)
    .describe("Maximum queued messages of a session; beyond it chats get 429."),
  sessionBytes: count(64 * 1024, 1024 * MIB)
    .default(16 * MIB)
    .describe("Maximum bytes of a session's messages as JSON; beyond it chats get 409 `session_full`."),
  maxRunning: count(1, 100_000)
    .default(256)
    .describe("Maximum concurrent turns of the process; others wait in the store."),
  maxWaiting: count(1, 10_000_000)
    .default(10_000)
    .describe(
      "Maximum waiting turns, without those behind a turn that waits for a person; beyond it chats get 503.",
    ),
  memoryBytes: count(MIB, Number.MAX_SAFE_INTEGER)
    .default(256 * MIB)
    .describe("Memory for snapshots of live sessions; the least recently used leave first."),
  idleMemoryMs: timer.default(30 * MINUTE).describe("Idle time after which a session leaves memory."),
  maxModelRetries: count(0, 20)
    .default(3)
    .describe(
      "Maximum retries of a failed model call, after the provider's `Retry-After` or 1, 2, 4 … seconds.",
    ),
  bodyBytes: count(MIB, Number.MAX_SAFE_INTEGER)
    .default(256 * MIB)
    .describe(
      "Memory for request bodies that arrive at the same time, three quarters of it for those over 64 KiB; beyond it requests get 503 `too_many_bodies`.",
    ),
  actionMs: timer.default(10 * MINUTE).describe("Time to decide an action; then it counts as denied."),
});

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

export const RetentionSection = z.strictObject({
  events: count(1, 1_000_000).default(1000).describe("Number of a session's last events."),
  eventMs: period.default(24 * 60 * MINUTE).describe("Age of a session's events."),
  auditDays: days
    .default(365)
    .describe("Days for entries of the [audit trail](security.md#the-audit-trail)."),
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

export const ConfigFile = z.strictObject({
  $schema: z.string().optional().describe("URL of the JSON Schema of this file, for editors."),
  apps: z
    .record(shortName, AppSection)
    .optional()
    .describe("Apps by name. `default` always exists and needs no key."),
  providers: z
    .record(shortName, ProviderSection)
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
  operators: OperatorsSection.optional().describe("Sign-in of operators, for the whole admin API."),
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
export type ConfigFile = z.output<typeof ConfigFile>;

function isOrigin(value: string): boolean {
  if (value === "*") return true;
  const url = URL.parse(value);
  // All local files and sandboxed pages send the origin "null": allowing it would allow anyone.
  return url !== null && url.origin === value && value !== "null";
}
