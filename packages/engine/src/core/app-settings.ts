// The validated and complete settings of an App, created by `config/` and used by `apps/` and `tools/`.

import type { SecretSlot } from "@colloquy/protocol";
import type { OnBusy } from "./commands/chat.ts";
import type { Hidden } from "./hidden.ts";
import type { JsonObject } from "./json.ts";
import type { ClientTool } from "./turn-options.ts";
import type { AppRateLimits } from "./rate-limits.ts";
import type { ToolEffect, ToolTurn } from "./ports/driven/tool.ts";
import type { ToolSourcePlugin } from "./plugins/tool-source.ts";

export interface AppSettings {
  readonly description: string | null;
  /** Models as rigs (`provider/model`), at least one; the first is the App's default. */
  readonly models: readonly string[];
  /** Rig for titles and summaries, unless a session has chosen another. */
  readonly utilityModel: string;
  /**
   * `summary`: the utility model, unless it is the demo model, summarizes histories that fill the context
   * window; `cut`: prompts omit the oldest turns.
   */
  readonly compaction: "summary" | "cut";
  /** System prompt, `null` for none. */
  readonly instructions: string | null;
  /** First messages that clients offer; absent for those of its tools. */
  readonly suggestions?: readonly string[] | undefined;
  /** Branding for pages. Public. */
  readonly branding?: Branding | undefined;
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
  /**
   * `proved`: binding a session to a wallet, and listing the wallet's threads, needs a token that proves the
   * wallet.
   */
  readonly wallets: "claimed" | "proved";
  /** Limits of this App, which override the general ones. */
  readonly rateLimits?: { readonly [Name in keyof AppRateLimits]?: number | undefined };
}

/** Branding of an App. Public: anyone who can reach the service can read it. */
export interface Branding {
  readonly name?: string | undefined;
  /** URL of an image: an https URL, or a path on the service's host. */
  readonly logo?: string | undefined;
  /** Heading of an empty conversation. */
  readonly greeting?: string | undefined;
  /** Colour as `#rrggbb`. */
  readonly accent?: string | undefined;
  /** Like `logo`, for the browser's tab. */
  readonly favicon?: string | undefined;
  /** Images in answers that the page loads; none when absent. */
  readonly images?: ImageSettings | undefined;
}

/** Images that pages load. Other images are shown as links. Public. */
export interface ImageSettings {
  /** Hosts whose images are loaded over https. */
  readonly hosts?: string[] | undefined;
  /** https URL for images of other hosts, with `{url}` for the image's percent-encoded URL. */
  readonly proxy?: string | undefined;
}

/** The console as a public client of an issuer (RFC 6749 section 2.1). Public. */
export interface PageClient {
  readonly clientId: string;
  /** Scopes, separated by spaces. */
  readonly scope: string;
  /** Further parameters of the authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
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
  /** The console's client at the issuer; absent if the console has no sign-in. */
  readonly console?: PageClient | undefined;
}

/** Tokens of operators. */
export interface OperatorSettings extends TokenIssuer, ClaimValues {}

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
  /** Sources of plugins, in the order of the plugins. */
  readonly sources: readonly SourceSettings[];
  /** `null` for an App without wallet tools. */
  readonly wallet: WalletSettings | null;
  /** Tools that clients run, by name; absent for none. */
  readonly client?: Readonly<Record<string, ClientTool>>;
  /** True if a chat may offer further tools of its client. */
  readonly allowsClientTools?: boolean;
  /** Effects set by the operator, which override the tools' own. */
  readonly effects: Readonly<Record<string, ToolEffect>>;
  readonly approvals: Readonly<Record<string, ApprovalRule | ApprovalTerms>>;
}

/** Rule, time limits and approvers of a tool's calls. */
export interface ApprovalTerms {
  readonly when: ApprovalRule;
  /** Milliseconds until an undecided action expires; `limits.actionMs` if absent. */
  readonly expiresMs?: number;
  /** Milliseconds until the reminder; half of the time until expiry if absent. */
  readonly remindMs?: number;
  /** Users of the App who may decide; if absent, only the user of the session may. */
  readonly approvers?: ClaimValues;
  /** Whether the user of the session may decide an action that has approvers; `may_not` if absent. */
  readonly owner?: "may" | "may_not";
}

/** Returns the settings of an entry of `approvals`, which may be a rule alone. */
export function approvalTerms(entry: ApprovalRule | ApprovalTerms): ApprovalTerms {
  return typeof entry === "object" ? entry : { when: entry };
}

/** Selects users by a claim in their tokens. */
export interface ClaimValues {
  /** Name of the claim, or dotted path to a nested one. */
  readonly claim: string;
  /** The claim must equal one of these values, or be a list that contains one. */
  readonly values: readonly string[];
}

/** Rule for whether a call needs a person's approval. A function is called with the input of each call. */
export type ApprovalRule = "always" | "never" | ApprovalFunctions["rule"];

interface ApprovalFunctions {
  // A method, so that a rule may narrow its input (bivariance): `(input: { amount: number }) => …`.
  rule(input: unknown, turn: ToolTurn): boolean | Promise<boolean>;
}

/** The used parts of the AI SDK's `Tool`. `inputSchema` is zod, another Standard Schema, or `jsonSchema()`. */
export interface OwnTool {
  readonly title?: string | undefined;
  readonly description?: string | ((options: never) => string);
  readonly inputSchema: unknown;
  readonly execute: (input: never, options: never) => unknown;
}

/** A source of a plugin, configured in an App. */
export interface SourceSettings {
  readonly plugin: ToolSourcePlugin;
  /** Prefix of its tools' names. */
  readonly name: string;
  /** Name for people: `mcp maps`, or `weather` for a plugin without entries. */
  readonly label: string;
  /** Its setting in the App: `mcp.maps`, or `weather`. */
  readonly setting: string;
  /** Folder of the configuration file. */
  readonly directory: string;
  /** What the plugin's schema returned for its section. */
  readonly settings: Hidden<unknown>;
  /** Values that placeholders were filled with. */
  readonly secrets: Hidden<readonly (readonly [names: string, value: string])[]>;
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
