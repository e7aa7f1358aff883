// What an operator's configuration file imports: `import { defineConfig } from "@colloquy/server/config"`. The descriptions here are also
// those of the JSON Schema (json-schema.ts), so each stands on its own.

import type { InferToolInput, InferToolOutput, Tool } from "ai";
import type { ApprovalRule, OwnTool } from "../core/app-settings.ts";
import type { ToolContext as Context } from "../core/ports/tool.ts";

export type { ApprovalRule } from "../core/app-settings.ts";

/**
 * What `execute` of an own tool is given beside its input: `execute: async (input, { context }) => …`.
 * `context.secret("NAME")` is the value that the user has put into a slot, `context.progress(value)` tells the user how far the tool is,
 * `context.callId` stays the same when a call is run again, `context.turn` says whose turn it is.
 */
export type ToolContext = { readonly [Key in keyof Context]: Context[Key] };

/** What `tool()` of the AI SDK makes. Named with the context, because it is from here that `execute` knows what its context is. */
export type ConfiguredTool = OwnTool | Tool<InferToolInput<Tool>, InferToolOutput<Tool>, ToolContext>;

/** Checks and documents a configuration in an editor, and gives it back as it is. */
export function defineConfig(config: ColloquyConfig): ColloquyConfig {
  return config;
}

/** A whole configuration file; everything in it may be left out. */
export interface ColloquyConfig {
  /** Address of the JSON Schema of this file, for editors. */
  readonly $schema?: string | undefined;
  /** Apps by name. Each has its own models, tools, keys and secrets. `default` is there in any case, and needs no key. */
  readonly apps?: Readonly<Record<string, AppConfig>> | undefined;
  /** Where the part of a model's name before the slash leads. openai, anthropic, google and demo need no entry. */
  readonly providers?: Readonly<Record<string, ProviderEntry>> | undefined;
  /** Blockchains that wallet tools can reach, by the number of the chain. */
  readonly chains?: Readonly<Record<string, ChainEntry>> | undefined;
  /** Web pages of other origins that may call the service. */
  readonly cors?: CorsConfig | undefined;
  /** Whether the threads of a wallet can be listed; off answers 403. */
  readonly walletListing?: "on" | "off" | undefined;
  /** Limits of turns, tools, memory and waiting. */
  readonly limits?: LimitsEntry | undefined;
  /** How many events of a session are kept for readers that come back. */
  readonly retention?: RetentionEntry | undefined;
}

/** One App. */
export interface AppConfig {
  /** What the App is, for whoever reads the file. */
  readonly description?: string | undefined;
  /** Models that a session may choose, written provider/model; the first is the default. */
  readonly models?: readonly string[] | undefined;
  /** Model for titles and summaries; the first of the models when absent. */
  readonly utilityModel?: string | undefined;
  /** What the assistant is told before every conversation. */
  readonly instructions?: string | undefined;
  /** Tools that the assistant may call: names of those that come with the service, or by name `true` or an own tool. */
  readonly tools?: readonly BuiltInTool[] | Readonly<Record<string, true | ConfiguredTool>> | undefined;
  /** MCP servers by name. Their tools are called NAME_tool. */
  readonly mcp?: Readonly<Record<string, McpAddress | McpCommand>> | undefined;
  /** HTTP services by name, as an OpenAPI document describes them. Their operations are tools called NAME_operation. */
  readonly openapi?: Readonly<Record<string, OpenApiService>> | undefined;
  /** Wallet tools: true for all chains of the file, or an object that names some, the first being the default. */
  readonly wallet?: boolean | WalletConfig | undefined;
  /** What a repeated call of a tool does to the world, by tool name: nothing, the same again, or something new. */
  readonly effects?: Readonly<Record<string, "read" | "idempotent" | "unsafe">> | undefined;
  /** Whether a person must approve calls of a tool, by tool name. In a TypeScript or JavaScript file also a function of the input. */
  readonly approvals?: Readonly<Record<string, ApprovalRule>> | undefined;
  /** Slots for secrets that the users of the App may fill; tools use them, nobody can read them. */
  readonly secrets?: readonly SecretSlotConfig[] | undefined;
  /** Whether only chat, set model and the like need the App's key, or everything about its sessions. */
  readonly requireKey?: "chat" | "all" | undefined;
  /** What a message does while the assistant works: wait for its turn, be refused, or stop what runs. */
  readonly onBusy?: "enqueue" | "reject" | "interrupt" | undefined;
  /** How long a session without a wallet is kept after its last use. */
  readonly expiry?: ExpiryConfig | undefined;
}

/** The tools that come with the service. */
export type BuiltInTool = "current_time" | "calculator" | "ask_user";

/** A slot for a secret. */
export interface SecretSlotConfig {
  /** Name that headers and tools use, such as API_KEY. */
  readonly name: string;
  /** What to put in, for the user. */
  readonly description: string;
  /** Whether the App is of no use without it, for the user; true when absent. */
  readonly required?: boolean | undefined;
}

/** An MCP server at an address. */
export interface McpAddress {
  /** Its address, without a key: that stands in a header. */
  readonly url: string;
  /** Sent with each request. May have {{env.NAME}} and {{secret.NAME}}. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An MCP server that is started as a process and spoken to on its standard streams. */
export interface McpCommand {
  /** Program to start. */
  readonly command: string;
  /** Its arguments. */
  readonly args?: readonly string[] | undefined;
  /** Its environment, beside what the platform needs: it inherits nothing. May have {{env.NAME}}. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** An HTTP service as an OpenAPI document describes it. */
export interface OpenApiService {
  /** Its document: a path, which stands on the directory of this file, or an address. */
  readonly document: string;
  /** Where the service is; the first server of the document when absent. */
  readonly baseURL?: string | undefined;
  /** Operation ids that become tools; all when absent. */
  readonly operations?: readonly string[] | undefined;
  /** Sent with each call. May have {{env.NAME}} and {{secret.NAME}}. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The chains of an App's wallet tools. */
export interface WalletConfig {
  /** Numbers of chains; the first is the default. */
  readonly chains: readonly number[];
}

/** How long sessions are kept, in milliseconds after their last use. */
export interface ExpiryConfig {
  /** One with nothing in it. */
  readonly emptyMs?: number | undefined;
  /** One without a wallet. */
  readonly unboundMs?: number | undefined;
}

/** A server of models. */
export interface ProviderEntry {
  /** What it speaks; may be left out where the provider is called like its kind. */
  readonly kind?: "demo" | "openai" | "anthropic" | "google" | "openai-compatible" | undefined;
  /** Address of its server, up to what comes before /chat/completions. */
  readonly baseURL?: string | undefined;
  /** Name of the environment variable that holds its key. */
  readonly apiKeyEnv?: string | undefined;
  /** Sent with every request. May have {{env.NAME}}. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How many turns may run on it at a time in this process. */
  readonly maxRunningTurns?: number | undefined;
  /** Tokens that fit its models, prompt and answer together. */
  readonly contextWindow?: number | undefined;
}

/** A blockchain. */
export interface ChainEntry {
  /** What people call it. */
  readonly name: string;
  /** Where its JSON-RPC server is. May have {{env.NAME}}; nothing prints it. */
  readonly rpcURL: string;
  /** Its own currency; ether when absent. */
  readonly currency?: CurrencyConfig | undefined;
  /** Contracts that a test chain has at addresses of its own, by the name that viem has for them. */
  readonly contracts?: Readonly<Record<string, ContractConfig>> | undefined;
}

/** A currency. */
export interface CurrencyConfig {
  /** Such as ETH. */
  readonly symbol: string;
  /** How many decimals an amount has, such as 18. */
  readonly decimals: number;
}

/** Where a contract is. */
export interface ContractConfig {
  /** Its address: 0x and 40 hexadecimal digits. */
  readonly address: string;
  /** The block that it is in. */
  readonly blockCreated?: number | undefined;
}

/** Web pages of other origins. */
export interface CorsConfig {
  /** Origins such as https://app.example.com, or * for any. */
  readonly origins: readonly string[];
}

/** Limits. Names that end in Ms are milliseconds. */
export interface LimitsEntry {
  /** How long a turn may run, without the time it waits for a person. */
  readonly turnMs?: number | undefined;
  /** How long a turn may run without text or the result of a tool. */
  readonly idleMs?: number | undefined;
  /** Model calls of a turn. */
  readonly maxSteps?: number | undefined;
  /** How long a tool call may take. */
  readonly toolMs?: number | undefined;
  /** Messages of a session that may wait behind the running turn. */
  readonly maxQueued?: number | undefined;
  /** Turns that run in the process at a time. */
  readonly maxRunning?: number | undefined;
  /** Turns that may wait before chats are answered with 503. */
  readonly maxWaiting?: number | undefined;
  /** Memory for the snapshots of live sessions, in bytes. */
  readonly memoryBytes?: number | undefined;
  /** A session leaves memory after this long without use. */
  readonly idleMemoryMs?: number | undefined;
  /** How often a failed model call is tried again. */
  readonly maxModelRetries?: number | undefined;
  /** How long a person who was asked has to decide. */
  readonly actionMs?: number | undefined;
}

/** A session keeps this many events, or those younger than this, whichever is more. */
export interface RetentionEntry {
  /** Number of events. */
  readonly events?: number | undefined;
  /** Age in milliseconds. */
  readonly eventMs?: number | undefined;
}
