// The module that configuration files import: `import { defineConfig } from "@colloquy/server/config"`. Its doc comments
// become the descriptions of the JSON Schema (json-schema.ts), so each must make sense on its own.

import type { InferToolInput, InferToolOutput, Tool } from "ai";
import type { ApprovalRule, OwnTool } from "../core/app-settings.ts";
import type { ToolContext as Context } from "../core/ports/driven/tool.ts";

export type { ApprovalRule } from "../core/app-settings.ts";

/**
 * Context of a custom tool, passed to `execute` beside its input: `execute: async (input, { context }) => …`.
 * `context.secret("NAME")` returns the user's value for a slot, `context.progress(value)` reports progress to the user,
 * `context.callId` stays the same when a call is repeated, and `context.turn` identifies the turn.
 */
export type ToolContext = { readonly [Key in keyof Context]: Context[Key] };

/** A tool made with `tool()` of the AI SDK. The context type parameter gives `execute` its typed context. */
export type ConfiguredTool = OwnTool | Tool<InferToolInput<Tool>, InferToolOutput<Tool>, ToolContext>;

/** Returns `config` unchanged. It exists to give editors type checking and documentation. */
export function defineConfig(config: ColloquyConfig): ColloquyConfig {
  return config;
}

/** A configuration file. Every setting is optional. */
export interface ColloquyConfig {
  /** URL of the JSON Schema of this file, for editors. */
  readonly $schema?: string | undefined;
  /** Apps by name. Each has its own models, tools, keys and secrets. `default` always exists and needs no key. */
  readonly apps?: Readonly<Record<string, AppConfig>> | undefined;
  /** Model providers by name, the part of a model before the slash. openai, anthropic, google and demo need no entry. */
  readonly providers?: Readonly<Record<string, ProviderEntry>> | undefined;
  /** Blockchains for wallet tools, by chain id. */
  readonly chains?: Readonly<Record<string, ChainEntry>> | undefined;
  /** Origins whose web pages may call the service. */
  readonly cors?: CorsConfig | undefined;
  /** Whether the threads of a wallet can be listed; off rejects the request with 403. */
  readonly walletListing?: "on" | "off" | undefined;
  /** Limits of turns, tools, memory and queues. */
  readonly limits?: LimitsEntry | undefined;
  /** Rate limits for clients, enforced if the service is public. */
  readonly rateLimits?: RateLimitsEntry | undefined;
  /** How many events of a session are kept for clients that reconnect. */
  readonly retention?: RetentionEntry | undefined;
}

/** One App. */
export interface AppConfig {
  /** Description of the App, for readers of this file. */
  readonly description?: string | undefined;
  /** Models that a session may use, as provider/model; the first is the default. */
  readonly models?: readonly string[] | undefined;
  /** Model for titles and summaries; defaults to the first of the models. */
  readonly utilityModel?: string | undefined;
  /** System prompt of every conversation. */
  readonly instructions?: string | undefined;
  /** Tools of the assistant: a list of built-in tools, or an object of names with `true` (built-in) or a custom tool. */
  readonly tools?: readonly BuiltInTool[] | Readonly<Record<string, true | ConfiguredTool>> | undefined;
  /** MCP servers by name. Their tools are called NAME_tool. */
  readonly mcp?: Readonly<Record<string, McpAddress | McpCommand>> | undefined;
  /** HTTP services by name, described by an OpenAPI document. Their operations become tools called NAME_operation. */
  readonly openapi?: Readonly<Record<string, OpenApiService>> | undefined;
  /** Wallet tools: true for all chains of the file, or an object that lists some; the first is the default. */
  readonly wallet?: boolean | WalletConfig | undefined;
  /** Effect of a repeated call, by tool name: none (read), the same (idempotent) or a new one (unsafe). */
  readonly effects?: Readonly<Record<string, "read" | "idempotent" | "unsafe">> | undefined;
  /** Whether a person must approve calls, by tool name. A TypeScript or JavaScript file may use a function of the input. */
  readonly approvals?: Readonly<Record<string, ApprovalRule>> | undefined;
  /** Secrets that users of the App may set. Tools use them; nobody can read them. */
  readonly secrets?: readonly SecretSlotConfig[] | undefined;
  /** Which requests need the App's key: chat, set model and lists (chat), or everything about its sessions (all). */
  readonly requireKey?: "chat" | "all" | undefined;
  /** What happens to a message during a running turn: queue it, reject it, or interrupt the turn. */
  readonly onBusy?: "enqueue" | "reject" | "interrupt" | undefined;
  /** Rate limits for clients of this App, in place of the general ones. */
  readonly rateLimits?: AppRateLimitsConfig | undefined;
  /** How long a session without a wallet is kept after its last use. */
  readonly expiry?: ExpiryConfig | undefined;
}

/** Names of the built-in tools. */
export type BuiltInTool = "current_time" | "calculator" | "ask_user";

/** A slot for a secret. */
export interface SecretSlotConfig {
  /** Name for use in headers and tools, such as API_KEY. */
  readonly name: string;
  /** Explanation of the secret, for the user. */
  readonly description: string;
  /** Whether the App needs the secret to be useful, for the user; defaults to true. */
  readonly required?: boolean | undefined;
}

/** An MCP server at a URL. */
export interface McpAddress {
  /** URL of the server, without a key; put keys in a header. */
  readonly url: string;
  /** Sent with each request. May have {{env.NAME}} and {{secret.NAME}}. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An MCP server that runs as a child process and communicates over its standard streams. */
export interface McpCommand {
  /** Program to start. */
  readonly command: string;
  /** Its arguments. */
  readonly args?: readonly string[] | undefined;
  /** Its environment; nothing is inherited except what the platform needs. May have {{env.NAME}}. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** An HTTP service, described by an OpenAPI document. */
export interface OpenApiService {
  /** Its OpenAPI document: a URL, or a path relative to the directory of this file. */
  readonly document: string;
  /** Base URL of the service; defaults to the first server of the document. */
  readonly baseURL?: string | undefined;
  /** Operation ids that become tools; defaults to all. */
  readonly operations?: readonly string[] | undefined;
  /** Sent with each call. May have {{env.NAME}} and {{secret.NAME}}. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The chains of an App's wallet tools. */
export interface WalletConfig {
  /** Chain ids; the first is the default. */
  readonly chains: readonly number[];
}

/** Expiry of sessions, in milliseconds after their last use. */
export interface ExpiryConfig {
  /** Expiry of an empty session. */
  readonly emptyMs?: number | undefined;
  /** Expiry of a session without a wallet. */
  readonly unboundMs?: number | undefined;
}

/** A model provider. */
export interface ProviderEntry {
  /** API of the provider; optional if its name is that of a kind. */
  readonly kind?: "demo" | "openai" | "anthropic" | "google" | "openai-compatible" | undefined;
  /** Base URL of its API, without /chat/completions. */
  readonly baseURL?: string | undefined;
  /** Name of the environment variable that holds its key. */
  readonly apiKeyEnv?: string | undefined;
  /** Sent with every request. May have {{env.NAME}}. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Maximum concurrent turns of this process on the provider. */
  readonly maxRunningTurns?: number | undefined;
  /** Context window of its models in tokens, prompt and answer together. */
  readonly contextWindow?: number | undefined;
}

/** A blockchain. */
export interface ChainEntry {
  /** Display name. */
  readonly name: string;
  /** URL of its JSON-RPC server. May have {{env.NAME}}; never printed. */
  readonly rpcURL: string;
  /** Native currency; defaults to ether. */
  readonly currency?: CurrencyConfig | undefined;
  /** Contracts at nonstandard addresses, for test chains, by viem's name for them. */
  readonly contracts?: Readonly<Record<string, ContractConfig>> | undefined;
}

/** A currency. */
export interface CurrencyConfig {
  /** Symbol, such as ETH. */
  readonly symbol: string;
  /** Number of decimals, such as 18. */
  readonly decimals: number;
}

/** A deployed contract. */
export interface ContractConfig {
  /** Its address: 0x and 40 hexadecimal digits. */
  readonly address: string;
  /** The block that created it. */
  readonly blockCreated?: number | undefined;
}

/** Cross-origin access (CORS). */
export interface CorsConfig {
  /** Origins such as https://app.example.com, or * for any. */
  readonly origins: readonly string[];
}

/** Limits. Names that end in Ms are milliseconds. */
export interface LimitsEntry {
  /** Maximum duration of a turn, excluding time spent waiting for a person. */
  readonly turnMs?: number | undefined;
  /** A turn fails after this long without text or a tool result. */
  readonly idleMs?: number | undefined;
  /** Maximum model calls of a turn. */
  readonly maxSteps?: number | undefined;
  /** Maximum duration of a tool call. */
  readonly toolMs?: number | undefined;
  /** Maximum messages of a session queued behind the running turn. */
  readonly maxQueued?: number | undefined;
  /** Maximum bytes of messages in a session; beyond it a chat is rejected with 409. */
  readonly sessionBytes?: number | undefined;
  /** Maximum concurrent turns of the process. */
  readonly maxRunning?: number | undefined;
  /** Maximum waiting turns; beyond it chats are rejected with 503. */
  readonly maxWaiting?: number | undefined;
  /** Memory for the snapshots of live sessions, in bytes. */
  readonly memoryBytes?: number | undefined;
  /** Idle time after which a session is evicted from memory. */
  readonly idleMemoryMs?: number | undefined;
  /** Maximum retries of a failed model call. */
  readonly maxModelRetries?: number | undefined;
  /** Time limit for a person to decide an action. */
  readonly actionMs?: number | undefined;
}

/** Rate limits for clients of an App, enforced if the service is public. */
export interface AppRateLimitsConfig {
  /** Messages a minute per address or App key; behind a trusted proxy, per client or session of an App key. */
  readonly chatsPerMinute?: number | undefined;
  /** Messages a minute per App key behind a trusted proxy, over all its clients and sessions. */
  readonly keyChatsPerMinute?: number | undefined;
}

/** Rate limits for clients, enforced if the service is public. */
export interface RateLimitsEntry {
  /** Messages a minute per address or App key; behind a trusted proxy, per client or session of an App key. */
  readonly chatsPerMinute?: number | undefined;
  /** Messages a minute per App key behind a trusted proxy, over all its clients and sessions. */
  readonly keyChatsPerMinute?: number | undefined;
  /** New sessions a minute per address. */
  readonly newSessionsPerMinute?: number | undefined;
  /** Requests of any kind a minute per address and process. */
  readonly readsPerMinute?: number | undefined;
  /** Requests of any kind a minute per session and process. */
  readonly sessionReadsPerMinute?: number | undefined;
  /** Write requests a minute per address, excluding messages. */
  readonly writesPerMinute?: number | undefined;
  /** Write requests a minute per session, excluding messages. */
  readonly sessionWritesPerMinute?: number | undefined;
  /** Maximum open event streams per address. */
  readonly streamsPerAddress?: number | undefined;
  /** Maximum open event streams per session. */
  readonly streamsPerSession?: number | undefined;
  /** Maximum open connections per address, excluding those of trusted proxies. */
  readonly connectionsPerAddress?: number | undefined;
}

/** A session keeps its last `events` events or those younger than `eventMs`, whichever is more. */
export interface RetentionEntry {
  /** Number of events. */
  readonly events?: number | undefined;
  /** Age in milliseconds. */
  readonly eventMs?: number | undefined;
}
