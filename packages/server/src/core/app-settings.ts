// The validated and complete settings of an App, created by `config/` and used by `apps/` and `tools/`.

import type { SecretSlot } from "@colloquy/protocol";
import type { OnBusy } from "./commands/chat.ts";
import type { Hidden } from "./hidden.ts";
import type { JsonObject } from "./json.ts";
import type { ClientTool } from "./turn-options.ts";
import type { AppRateLimits } from "./rate-limits.ts";
import type { ToolEffect, ToolTurn } from "./ports/driven/tool.ts";

export interface AppSettings {
  readonly description: string | null;
  /** Models as rigs (`provider/model`), at least one; the first is the App's default. */
  readonly models: readonly string[];
  /** Rig for titles and summaries, unless a session has chosen another. */
  readonly utilityModel: string;
  /** System prompt, `null` for none. */
  readonly instructions: string | null;
  readonly tools: ToolSettings;
  readonly onBusy: OnBusy;
  readonly expiry: {
    /** Milliseconds that an empty session is kept after its last use. */
    readonly emptyMs: number;
    /** Milliseconds that a session without a wallet is kept after its last use. */
    readonly unboundMs: number;
    /** Retention in milliseconds after the last use of a session with a wallet or an owner; unlimited when absent. */
    readonly boundMs?: number | undefined;
  };
  /** Slots for secrets that clients may fill. */
  readonly secrets: readonly SecretSlot[];
  /** `all`: every operation on a session of this App needs the App's key, not only those in the specification. */
  readonly requireKey: "chat" | "all";
  /** Sign-in of the App's users; `null` if it has none. */
  readonly users: UserSettings | null;
  /** `proved`: binding a session to a wallet, and listing the wallet's threads, needs a token that proves the wallet. */
  readonly wallets: "claimed" | "proved";
  /** Limits of this App, which override the general ones. */
  readonly rateLimits?: { readonly [Name in keyof AppRateLimits]?: number | undefined };
}

/** Tokens (JWT) that are accepted. */
export interface TokenIssuer {
  /** `iss` of the tokens (RFC 7519). */
  readonly issuer: string;
  /** A value in their `aud`. */
  readonly audience: string;
  /** URL of the key set (RFC 7517); `null` for the one in the issuer's discovery document, unless `keys` are given. */
  readonly jwksUri: string | null;
  /** Public keys (RFC 7517) in place of a URL. */
  readonly keys: readonly { readonly kty: string; readonly [member: string]: unknown }[] | null;
}

/** Tokens of operators. */
export interface OperatorSettings extends TokenIssuer {
  /** Claim that makes the user an operator; a dot leads into an object. */
  readonly claim: string;
  /** The claim must be one of these, or a list with one of them. */
  readonly values: readonly string[];
}

export interface UserSettings extends TokenIssuer {
  /** True to refuse anonymous requests. */
  readonly required: boolean;
  /** True if a user may claim a session without an owner. */
  readonly claimSessions: boolean;
}

/** Tool that the demo model has in every App, before all others. No client tool can have its name. */
export const COUNTING_TOOL = "continue_counting";

/** Sources of an App's tools, and rules by tool name. */
export interface ToolSettings {
  readonly builtIn: readonly string[];
  /** True for an App without its own section, in which the demo model may demonstrate an approval. */
  readonly isUnconfigured?: boolean;
  /** Tools written in the configuration file with the AI SDK's `tool()`. */
  readonly own: Readonly<Record<string, OwnTool>>;
  readonly mcp: Readonly<Record<string, McpServerSettings>>;
  readonly openapi: Readonly<Record<string, OpenApiSettings>>;
  /** `null` for an App without wallet tools. */
  readonly wallet: WalletSettings | null;
  /** Tools that clients run, by name; absent for none. */
  readonly client?: Readonly<Record<string, ClientTool>>;
  /** True if a chat may offer further tools of its client. */
  readonly allowsClientTools?: boolean;
  /** Effects set by the operator, which override the tools' own. */
  readonly effects: Readonly<Record<string, ToolEffect>>;
  readonly approvals: Readonly<Record<string, ApprovalRule>>;
}

/** Rule for whether a call needs a person's approval. A function is called with the input of each call. */
export type ApprovalRule = "always" | "never" | ApprovalFunctions["rule"];

interface ApprovalFunctions {
  // A method, so that a rule may narrow its input (bivariance): `(input: { amount: number }) => …`.
  rule(input: unknown, turn: ToolTurn): boolean | Promise<boolean>;
}

/** The used parts of the AI SDK's `Tool`. `inputSchema` is zod, another Standard Schema, or `jsonSchema()`. */
export interface OwnTool {
  readonly description?: string | ((options: never) => string);
  readonly inputSchema: unknown;
  readonly execute: (input: never, options: never) => unknown;
}

export type McpServerSettings =
  | {
      readonly transport: "http";
      readonly url: string;
      /** Header values may contain `{{secret.NAME}}`. */
      readonly headers: Hidden<Readonly<Record<string, string>>>;
    }
  | {
      readonly transport: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      /**
       * Environment variables of the process, in addition to those that the platform needs. The process does
       * not inherit the service's environment.
       */
      readonly env: Hidden<Readonly<Record<string, string>>>;
    };

export interface OpenApiSettings {
  /** Path (absolute) or http(s) URL of the document. */
  readonly document: string;
  /** `null` for the document's first server. */
  readonly baseURL: string | null;
  /** Operation ids that become tools; `null` for all. */
  readonly operations: readonly string[] | null;
  /** Header values may contain `{{secret.NAME}}`. */
  readonly headers: Hidden<Readonly<Record<string, string>>>;
}

export interface WalletSettings {
  /** Chains; the first one is the default. */
  readonly chains: readonly ChainSettings[];
}

export interface ChainSettings {
  readonly id: number;
  readonly name: string;
  readonly rpcURL: Hidden<string>;
  readonly currency: { readonly symbol: string; readonly decimals: number };
  /** Contract addresses of a test chain; `null` for the addresses in viem. */
  readonly contracts: JsonObject | null;
}
