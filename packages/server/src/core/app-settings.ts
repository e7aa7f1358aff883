// An App as the operator describes it: checked and complete. What the configuration makes, and what apps/ and tools/ work from.

import type { SecretSlot } from "@colloquy/protocol";
import type { OnBusy } from "./commands/chat.ts";
import type { Hidden } from "./hidden.ts";
import type { JsonObject } from "./json.ts";
import type { AppRateLimits } from "./rate-limits.ts";
import type { ToolEffect, ToolTurn } from "./ports/driven/tool.ts";

export interface AppSettings {
  readonly description: string | null;
  /** Rigs (`provider/model`), at least one; the first is the App's default. */
  readonly models: readonly string[];
  /** Rig for titles and summaries, unless a session has chosen another. */
  readonly utilityModel: string;
  /** What the assistant is told before every conversation, `null` for nothing. */
  readonly instructions: string | null;
  readonly tools: ToolSettings;
  readonly onBusy: OnBusy;
  readonly expiry: {
    /** Milliseconds that an empty session is kept after its last use. */
    readonly emptyMs: number;
    /** Milliseconds that a session without a wallet is kept after its last use. */
    readonly unboundMs: number;
  };
  /** Slots for secrets that clients may fill. */
  readonly secrets: readonly SecretSlot[];
  /** `all`: every operation on a session of this App needs the App's key, not only those that the specification names. */
  readonly requireKey: "chat" | "all";
  /** In place of those that hold for all Apps; absent is none. */
  readonly rateLimits?: { readonly [Name in keyof AppRateLimits]?: number | undefined };
}

/** Where the tools of an App come from, and what is said about them by name. */
export interface ToolSettings {
  /** Names of tools that come with the service. */
  readonly builtIn: readonly string[];
  /** Tools written in the configuration file with the AI SDK's `tool()`, by name. */
  readonly own: Readonly<Record<string, OwnTool>>;
  readonly mcp: Readonly<Record<string, McpServerSettings>>;
  readonly openapi: Readonly<Record<string, OpenApiSettings>>;
  /** `null` for an App without wallet tools. */
  readonly wallet: WalletSettings | null;
  /** What the operator says of a tool's effect, by the name that the model sees; goes before what the tool says of itself. */
  readonly effects: Readonly<Record<string, ToolEffect>>;
  readonly approvals: Readonly<Record<string, ApprovalRule>>;
}

/** Whether a call needs a person's approval. A function is asked with the input of each call. */
export type ApprovalRule = "always" | "never" | ApprovalFunctions["rule"];

interface ApprovalFunctions {
  // Written as a method, because a rule may say which input its tool's schema lets through: `(input: { amount: number }) => …`.
  rule(input: unknown, turn: ToolTurn): boolean | Promise<boolean>;
}

/** The parts of the AI SDK's `Tool` that are used. `inputSchema` is what the SDK takes: zod, another Standard Schema, or `jsonSchema()`. */
export interface OwnTool {
  readonly description?: string | ((options: never) => string);
  readonly inputSchema: unknown;
  readonly execute: (input: never, options: never) => unknown;
}

export type McpServerSettings =
  | {
      readonly transport: "http";
      readonly url: string;
      /** Values may hold `{{secret.NAME}}`. */
      readonly headers: Hidden<Readonly<Record<string, string>>>;
    }
  | {
      readonly transport: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      /** All that the process gets beside what the platform needs; it never inherits this service's environment. */
      readonly env: Hidden<Readonly<Record<string, string>>>;
    };

export interface OpenApiSettings {
  /** Path (absolute) or http(s) URL of the document. */
  readonly document: string;
  /** Where the service is; `null` for the document's first server. */
  readonly baseURL: string | null;
  /** Operation ids that become tools; `null` for all. */
  readonly operations: readonly string[] | null;
  /** Sent with each call; values may hold `{{secret.NAME}}`. */
  readonly headers: Hidden<Readonly<Record<string, string>>>;
}

export interface WalletSettings {
  /** At least one; the first is the default. */
  readonly chains: readonly ChainSettings[];
}

export interface ChainSettings {
  readonly id: number;
  readonly name: string;
  /** May hold the key of a provider. */
  readonly rpcURL: Hidden<string>;
  readonly currency: { readonly symbol: string; readonly decimals: number };
  /** Contracts that a test chain has elsewhere; `null` for those that viem knows. */
  readonly contracts: JsonObject | null;
}
