// Schema of one App in the configuration file. Patterns have no flags, because the JSON Schema generated from
// them supports none. Checks across settings are in app-tools.ts and apps.ts.

import { createPublicKey } from "node:crypto";
import type { InferToolInput, InferToolOutput, Tool } from "ai";
import { ClientTool, ClientToolName } from "@colloquy/protocol";
import { z } from "zod";
import type { ApprovalRule, OwnTool, TokenIssuer } from "../core/app-settings.ts";
import { isEncryptedOrLoopback } from "../core/loopback.ts";
import type { ToolContext as Context } from "../core/ports/driven/tool.ts";
import {
  APP_RATE_LIMITS,
  baseURL,
  days,
  headers,
  isServerURL,
  period,
  rig,
  SERVER_URL_RULE,
  text,
} from "./schema-parts.ts";

export const BUILT_IN_TOOLS = ["current_time", "calculator", "ask_user"] as const;
/** Built-in tools of an App without `tools`. */
export const DEFAULT_TOOLS = ["current_time", "calculator"] as const;

const toolName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be a tool's name: 1 to 64 letters, digits, _ and -");
/** Prefixes the names of the server's tools, so its length limit leaves them at least 31 characters. */
const serverName = z
  .string()
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,31}$/, "must be a name of at most 32 letters, digits, _ and -");

const NOT_A_TOOL =
  "must be true for a built-in tool, or a tool made with tool() of the AI SDK that has inputSchema and execute";
const NOT_A_RULE = 'must be "always", "never", or in a TypeScript or JavaScript file a function of the input';

/**
 * Context of a custom tool, passed to `execute` beside its input: `execute: async (input, { context }) => …`.
 * `context.secret("NAME")` returns the user's value for a slot, `context.progress(value)` reports progress to the user,
 * `context.callId` stays the same when a call is repeated, and `context.turn` identifies the turn.
 */
export type ToolContext = { readonly [Key in keyof Context]: Context[Key] };

/** A tool made with `tool()` of the AI SDK. The context type parameter gives `execute` its typed context. */
export type ConfiguredTool = OwnTool | Tool<InferToolInput<Tool>, InferToolOutput<Tool>, ToolContext>;

/** A value of `tools` when `tools` is an object. Its metadata describes what a JSON file can hold. */
export const ToolValue: z.ZodType<true | OwnTool, true | ConfiguredTool> = z
  .custom<true | OwnTool>((value) => value === true || isOwnTool(value), NOT_A_TOOL)
  .meta({ const: true });
/** A value of `approvals`. */
export const ApprovalValue = z
  .custom<ApprovalRule>(
    (value) => value === "always" || value === "never" || typeof value === "function",
    NOT_A_RULE,
  )
  .meta({ enum: ["always", "never"] });

export const SlotSection = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/,
      "must be a name of at most 64 letters, digits and _, such as API_KEY",
    )
    .describe('Name for `{{secret.NAME}}` and `context.secret("NAME")`: at most 64 letters, digits and `_`.'),
  description: text.describe("Explanation for the user."),
  required: z.boolean().default(true).describe("Whether the App is useless without it, for clients to show."),
});

const McpUrlSection = z.strictObject({
  url: z
    .string()
    .refine(isServerURL, SERVER_URL_RULE)
    .meta({ pattern: "^https?://" })
    .describe("URL of a Streamable HTTP server, without a key; put keys in `headers`."),
  headers: headers
    .optional()
    .describe("Header fields sent with each request, only to the host of `url`. May have placeholders."),
});

const McpCommandSection = z.strictObject({
  command: text.describe("Program to start, in place of `url`."),
  args: z
    .array(z.string())
    .optional()
    .describe("Its arguments. No placeholders: every user of the machine can see them."),
  env: z
    .record(
      z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, "must be the name of an environment variable"),
      z.string(),
    )
    .optional()
    .describe("Its environment; it inherits only what the platform needs. May have `{{env.NAME}}`."),
});

export const McpSection = z.union([McpUrlSection, McpCommandSection]);

export const OpenApiSection = z.strictObject({
  document: text.describe("OpenAPI document: a path relative to the configuration file, or a URL."),
  baseURL: baseURL
    .optional()
    .describe(
      "Base URL of the service; defaults to the first server of the document. Like `document`, it may use `http` only for loopback and private addresses.",
    ),
  operations: z.array(text).min(1).optional().describe("Operation ids that become tools; defaults to all."),
  headers: headers
    .optional()
    .describe("Header fields sent with each call, only to the host of the service. May have placeholders."),
});

export const WalletSection = z.union([
  z.boolean(),
  z.strictObject({
    chains: z.array(z.int().min(1)).min(1).describe("Chain ids; the first is the default."),
  }),
]);

const USER_URL_RULE = "must be an https URL, or an http URL of this machine";
const userURL = z
  .string()
  .refine((value) => isServerURL(value) && isEncryptedOrLoopback(new URL(value)), USER_URL_RULE)
  .meta({ pattern: "^https?://" });

/** Curves of the algorithms of tokens (`ALGORITHMS` in apps/users/token-verifier.ts). */
const KEY_CURVES: readonly unknown[] = ["P-256", "P-384", "P-521", "Ed25519"];
/** Minimum size of RSA keys (RFC 7518 section 3.3). */
const RSA_BITS = 2048;
const PUBLIC_KEY_RULE = `must be a public key as a JWK (RFC 7517): RSA of at least ${RSA_BITS} bits, ${KEY_CURVES.join(", ")}`;

const TOKEN_ISSUER = {
  issuer: userURL.describe("Issuer of the tokens; must equal their `iss` exactly."),
  audience: text.describe("Audience of the tokens; must be in their `aud`."),
  jwksUri: userURL
    .optional()
    .describe("URL of the issuer's keys. Defaults to the one in the issuer's discovery document."),
  keys: z
    .array(
      z
        .looseObject({ kty: text.describe("Key type, such as `RSA` or `EC`.") })
        .refine(isPublicKey, PUBLIC_KEY_RULE),
    )
    .min(1)
    .optional()
    .describe("Public keys of the issuer as JWKs, in place of a URL."),
};

export interface KeySource {
  readonly jwksUri?: string | undefined;
  readonly keys?: TokenIssuer["keys"] | undefined;
}

const KEY_SOURCE_RULE = "must have jwksUri or keys, not both";
const hasOneKeySource = ({ jwksUri, keys }: KeySource): boolean =>
  jwksUri === undefined || keys === undefined;

export const OperatorsSection = z
  .strictObject({
    ...TOKEN_ISSUER,
    claim: text.describe(
      "Token claim that makes a user an operator, such as `groups` or, nested, `realm_access.roles`.",
    ),
    values: z
      .array(text)
      .min(1)
      .describe("Accepted values: the claim equals one, or is a list that contains one."),
  })
  .refine(hasOneKeySource, KEY_SOURCE_RULE);

const UsersSection = z
  .strictObject({
    ...TOKEN_ISSUER,
    required: z.boolean().default(false).describe("Whether to refuse users who are not signed in."),
    claimSessions: z
      .boolean()
      .default(false)
      .describe("Whether users may claim conversations that they began before they signed in."),
  })
  .refine(hasOneKeySource, KEY_SOURCE_RULE);

const HOUR = 60 * 60 * 1000;

const ExpirySection = z.strictObject({
  emptyMs: period.default(HOUR).describe("Time for an empty session, with or without a wallet."),
  unboundMs: period
    .default(30 * 24 * HOUR)
    .describe("Time for a session without a wallet and a signed-in user."),
});

export const AppSection = z.strictObject({
  description: text.optional().describe("Text for readers of the file."),
  models: z
    .array(rig)
    .min(1)
    .optional()
    .describe(
      "Models, as `provider/model`; the first is the default. Without any, those of the keys in the environment, then `demo/assistant`.",
    ),
  utilityModel: rig.optional().describe("Model for titles; defaults to the first of `models`."),
  instructions: text.optional().describe("System prompt of every conversation."),
  tools: z
    .union([z.array(z.enum(BUILT_IN_TOOLS)), z.record(toolName, ToolValue)])
    .default([...DEFAULT_TOOLS])
    .describe("A list of built-in tools, or an object of names with `true` or a custom tool."),
  mcp: z
    .record(serverName, McpSection)
    .optional()
    .describe("MCP servers by name, whose tools are called `NAME_tool`."),
  openapi: z
    .record(serverName, OpenApiSection)
    .optional()
    .describe("HTTP services by name, whose operations become tools called `NAME_operation`."),
  clientTools: z
    .record(ClientToolName, ClientTool)
    .default({})
    .describe("Tools that a client runs, by name."),
  allowClientTools: z
    .boolean()
    .default(false)
    .describe("Whether a chat may offer more of them (`client_tools`)."),
  wallet: WalletSection.default(false).describe(
    'Wallet tools: `true` for all chains, of which the smallest id is the default, or `{ "chains": [8453, 1] }` for some, of which the first is the default.',
  ),
  effects: z
    .record(toolName, z.enum(["read", "idempotent", "unsafe"]))
    .optional()
    .describe(
      "What a repeated call does, by tool name: nothing (`read`), the same (`idempotent`) or something new (`unsafe`). Defaults to what the tool declares, else `unsafe`, which never runs again after a crash.",
    ),
  approvals: z
    .record(toolName, ApprovalValue)
    .optional()
    .describe(
      "Whether a person must approve calls, by tool name: `always`, `never` (the default), or in a module a function of the input and the turn; if it throws, approval is required.",
    ),
  secrets: z.array(SlotSection).default([]).describe("Secrets that users may set for the tools."),
  requireKey: z
    .enum(["chat", "all"])
    .default("chat")
    .describe(
      "What needs the App's key: `chat` (chat, set model and lists) or `all` (everything about its sessions). Not for `default`.",
    ),
  users: UsersSection.optional().describe("Sign-in of users with tokens (JWT) of an OpenID Connect issuer."),
  wallets: z
    .enum(["claimed", "proved"])
    .default("claimed")
    .describe(
      "Whether clients must prove (`proved`) that they hold a wallet, to bind a session to it and to list its threads.",
    ),
  onBusy: z
    .enum(["enqueue", "reject", "interrupt"])
    .default("enqueue")
    .describe(
      "A message during a running turn: `enqueue` it, `reject` it with 409, or `interrupt` the turn.",
    ),
  rateLimits: z
    .strictObject(APP_RATE_LIMITS)
    .partial()
    .default({})
    .describe("Rate limits of this App, in place of the general ones."),
  expiry: ExpirySection.prefault({}).describe(
    "How long a session is kept after its last use; an open event stream is use. Those of a wallet or a signed-in user are kept forever, or as long as `retention`.",
  ),
  retention: days.optional().describe("Days without use after which every session is deleted."),
});

export type AppSection = z.infer<typeof AppSection>;

/** Returns true for a JWK that can verify tokens. The private part `d` and shared secrets must not be in the file. */
function isPublicKey(key: Readonly<Record<string, unknown>>): boolean {
  try {
    const { asymmetricKeyDetails: details } = createPublicKey({ key, format: "jwk" });
    const verifies =
      key["kty"] === "RSA" ? (details?.modulusLength ?? 0) >= RSA_BITS : KEY_CURVES.includes(key["crv"]);
    return verifies && key["d"] === undefined;
  } catch {
    return false;
  }
}

function isOwnTool(value: unknown): value is OwnTool {
  return (
    typeof value === "object" &&
    value !== null &&
    "execute" in value &&
    typeof value.execute === "function" &&
    "inputSchema" in value &&
    value.inputSchema !== undefined
  );
}
