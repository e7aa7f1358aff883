// Schemas of the engine's configuration sections (contract section 4), except Apps (app-schema.ts).

import { FILE_MAX_BYTES } from "@colloquy/protocol";
import { MEDIA_TYPES } from "@colloquy/protocol/media-types";
import { z } from "zod";
import { baseURL, headers, text } from "../core/setting-schemas.ts";
import { isModelProvider, type ModelProviderPlugin } from "../core/plugins/model-provider.ts";
import type { Plugin } from "../core/plugins/plugin.ts";
import { count, days, period, timer } from "./schema-parts.ts";

const MINUTE = 60 * 1000;

export const PROVIDER_KINDS = ["demo", "openai", "anthropic", "google", "openai-compatible"] as const;

const SCHEMA_DIALECTS = ["openai", "anthropic", "google", "strictest"] as const;

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
  maxTools: count(1, 10_000)
    .optional()
    .describe(
      "Maximum tools per request; beyond it, tools of servers are omitted first. Defaults to 128, and to 1,000 for `anthropic`.",
    ),
  toolSchemas: z
    .enum(SCHEMA_DIALECTS)
    .optional()
    .describe(
      "JSON Schema dialect that its models accept in tool definitions: `openai`, `anthropic`, `google`, or `strictest` for the common subset. Defaults to the kind; `openai-compatible` to `strictest`.",
    ),
  fileTypes: z
    .array(z.enum(MEDIA_TYPES))
    .optional()
    .describe(
      "Media types of files that its models take; others get a sentence. Text is always sent, as text. Defaults to what the kind's API documents; `openai-compatible` to images.",
    ),
  timeoutMs: count(1_000, 5 * MINUTE)
    .optional()
    .describe(
      "Time without a chunk of the response after which a model call fails and is retried. Defaults to `limits.idleMs`, which ends the turn.",
    ),
  tools: z
    .boolean()
    .optional()
    .describe(
      "Whether its models accept tools; if not, none are sent. Default: `true`. This and the following settings apply only to `openai-compatible`.",
    ),
  toolChoice: z.boolean().optional().describe("Whether to send `tool_choice` with tools. Default: `true`."),
  parallelToolCalls: z
    .boolean()
    .optional()
    .describe("Value of `parallel_tool_calls` in requests with tools. Not sent by default."),
  streamUsage: z
    .boolean()
    .optional()
    .describe(
      "Whether to request usage with `stream_options`. Without it, most servers report none. Default: `true`.",
    ),
  jsonAnswers: z
    .enum(["json_schema", "json_object", "off"])
    .optional()
    .describe(
      "`response_format` of requests for JSON answers; `off` sends none. The instructions contain the schema in any case. Default: `json_object`.",
    ),
  thinkingTags: z
    .enum(["detect", "opened", "off"])
    .optional()
    .describe(
      "Parsing of thinking tags such as `<think>`: `detect` at the start of an answer; `opened` if the chat template contains the opening tag; `off` to treat tags as text. Default: `detect`.",
    ),
  replayReasoning: z
    .boolean()
    .optional()
    .describe(
      "Whether to send the reasoning (`reasoning_content`) of a turn with tool calls back to the model. Default: `true`.",
    ),
  body: z
    .record(
      z
        .string()
        .regex(
          /^(?!(?:model|messages|stream|tools)$)/,
          "must not be model, messages, stream or tools, which the service sets",
        ),
      z.unknown(),
    )
    .optional()
    .describe("Fields to add to, or replace in, every request body."),
});

/** Provider settings that only `openai-compatible` supports. */
export const COMPATIBLE_SETTINGS = [
  "tools",
  "toolChoice",
  "parallelToolCalls",
  "streamUsage",
  "jsonAnswers",
  "thinkingTags",
  "replayReasoning",
  "body",
] as const;

/** Returns the schema of a provider of any built-in kind or plugin. */
export function providerSection(plugins: readonly Plugin[]): z.ZodType<z.output<typeof ProviderSection>> {
  const others = plugins.filter(isModelProvider).map(pluginProviderSection);
  return others.length === 0 ? ProviderSection : z.union([ProviderSection, ...others]);
}

/** Returns the schema of a plugin's provider: the common settings plus its own. */
export function pluginProviderSection({ name, settings }: ModelProviderPlugin): typeof ProviderSection {
  const kind = z.literal(name).optional().describe(`\`${name}\`. Optional if the provider has this name.`);
  return ProviderSection.extend({ ...settings?.shape, kind }) as unknown as typeof ProviderSection;
}

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
    .describe(
      "Memory for snapshots of live sessions, at most an eighth of Node's heap (`--max-old-space-size`, or half of a container's memory); the least recently used leave first.",
    ),
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
  fileBytes: count(1, FILE_MAX_BYTES)
    .default(FILE_MAX_BYTES)
    .describe("Maximum bytes of a file; beyond it uploads get 413."),
  fileTypes: z
    .array(z.enum(MEDIA_TYPES))
    .default([...MEDIA_TYPES])
    .describe("Media types of files that are accepted."),
  appFileBytes: count(0, Number.MAX_SAFE_INTEGER)
    .default(10 * 1024 * MIB)
    .describe("Maximum bytes of all files of an App; beyond it uploads get 507."),
  ownerFileBytes: count(0, Number.MAX_SAFE_INTEGER)
    .default(1024 * MIB)
    .describe("Maximum bytes of the files of a signed-in user, or of a session without one, in an App."),
  actionMs: timer.default(10 * MINUTE).describe("Time to decide an action; then it counts as denied."),
});

export const RetentionSection = z.strictObject({
  events: count(1, 1_000_000).default(1000).describe("Number of a session's last events."),
  eventMs: period.default(24 * 60 * MINUTE).describe("Age of a session's events."),
  auditDays: days
    .default(365)
    .describe("Days for entries of the [audit trail](security.md#the-audit-trail)."),
});
