// Schema of one App in the configuration file. Patterns have no flags, because the JSON Schema generated from
// them supports none. Checks across settings are in app-tools.ts and apps.ts.

import { createPublicKey } from "node:crypto";
import type { InferToolInput, InferToolOutput, Tool } from "ai";
import { ClientTool, ClientToolName } from "@colloquy/protocol";
import { z } from "zod";
import type { ApprovalRule, OwnTool, TokenIssuer } from "../core/app-settings.ts";
import { isEncryptedOrLoopback } from "../core/loopback.ts";
import type { Plugin } from "../core/plugins/plugin.ts";
import { isToolSource, type ToolSourcePlugin } from "../core/plugins/tool-source.ts";
import type { ToolContext as Context } from "../core/ports/driven/tool.ts";
import { isServerURL, text } from "../core/setting-schemas.ts";
import { APP_RATE_LIMITS, days, period, rig } from "./schema-parts.ts";

export const BUILT_IN_TOOLS = ["current_time", "calculator", "ask_user"] as const;
/** Built-in tools of an App without `tools`. */
export const DEFAULT_TOOLS = ["current_time", "calculator"] as const;

const toolName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be a tool's name: 1 to 64 letters, digits, _ and -");
/** Prefixes the names of the source's tools, so its length limit leaves them at least 31 characters. */
const entryName = z
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
const ApprovalWhen = z
  .custom<ApprovalRule>(
    (value) => value === "always" || value === "never" || typeof value === "function",
    NOT_A_RULE,
  )
  .meta({ enum: ["always", "never"] });

const MINUTE = 60 * 1000;
const UNITS = { m: MINUTE, h: 60 * MINUTE, d: 24 * 60 * MINUTE } as const;
const DURATION_RULE = "must be a number and a unit from 1m to 30d, such as 30m, 12h or 2d";
const duration = z
  .string()
  .regex(/^[1-9][0-9]{0,4}[mhd]$/, { error: DURATION_RULE, abort: true })
  .refine((text) => durationMs(text) <= 30 * UNITS.d, DURATION_RULE);

/** Returns the milliseconds of a duration such as `2d`. */
export function durationMs(text: string): number {
  return Number(text.slice(0, -1)) * UNITS[text.at(-1) as keyof typeof UNITS];
}

const ApprovalSection = z.strictObject({
  when: ApprovalWhen.describe(
    "Whether approval is required: `always`, `never`, or a function of the input and the turn.",
  ),
  expiresAfter: duration
    .optional()
    .describe(
      "Time until an undecided request is denied, from `1m` to `30d`. Defaults to `limits.actionMs`.",
    ),
  remindAfter: duration
    .optional()
    .describe("Time until the reminder. Defaults to half of the time until an undecided request is denied."),
  approvers: z
    .strictObject({
      claim: text.describe(
        "Claim of the App's user tokens, such as `role` or, nested, `realm_access.roles`.",
      ),
      values: z
        .array(text)
        .min(1)
        .describe("Accepted values: the claim equals one, or is a list that contains one."),
    })
    .optional()
    .describe("Users of the App who decide the requests of all its conversations."),
  owner: z
    .enum(["may", "may_not"])
    .optional()
    .describe("Whether the user of the conversation may decide too. Defaults to `may_not`."),
});
/** A value of `approvals`. */
export const ApprovalValue = z.union([ApprovalWhen, ApprovalSection]);
export type ApprovalValue = z.infer<typeof ApprovalValue>;

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

/** Parameters of authorization requests that the console sets itself, or that would send tokens elsewhere. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  "client_id",
  "code_challenge",
  "code_challenge_method",
  "nonce",
  "redirect_uri",
  "request",
  "request_uri",
  "response_mode",
  "response_type",
  "scope",
  "state",
]);

const PageClientSection = z.strictObject({
  clientId: z
    .string()
    .regex(/^[ -~]{1,200}$/, "must be 1 to 200 printable ASCII characters")
    .describe("Client id of the console at the issuer: a public client, without a secret."),
  scope: z
    .string()
    .regex(/^[!#-[\]-~]+( [!#-[\]-~]+)*$/, "must be scopes separated by single spaces")
    .refine((scope) => scope.split(" ").includes("openid"), "must include openid")
    .default("openid profile")
    .describe(
      "Scopes, separated by spaces. Add `offline_access` if the issuer gives refresh tokens only with it.",
    ),
  parameters: z
    .record(
      z.string().refine((name) => !OWN_PARAMETERS.has(name), "is a parameter that the console sets itself"),
      text,
    )
    .default({})
    .describe(
      "Further parameters of the authorization request, such as `resource` or `audience`, which some issuers need to name the API.",
    ),
});

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
  console: PageClientSection.optional().describe("How the console signs in with OpenID Connect. Public."),
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

const imageAddress = z
  .string()
  .max(2_000, "must have at most 2,000 characters")
  .refine(isImageAddress, "must be an https URL, or a path of this host that begins with /");
const words = (most: number): z.ZodString =>
  z.string().trim().min(1, "must not be blank").max(most, `must have at most ${most} characters`);

const ImagesSection = z.strictObject({
  hosts: z
    .array(
      z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?$/, "must be a host such as images.example.com"),
    )
    .max(20, "must have at most 20 hosts")
    .optional()
    .describe("Hosts whose images load by themselves, over https."),
  proxy: z
    .string()
    .max(2_000, "must have at most 2,000 characters")
    .refine(
      isImageProxy,
      "must be an https URL with {url} once, in its query or after its last /, such as https://images.example.com/?url={url}",
    )
    .optional()
    .describe("URL that loads all other images; `{url}` is the image's address, percent-encoded."),
});

const BrandingSection = z.strictObject({
  name: words(60).optional().describe("Name in place of Colloquy."),
  logo: imageAddress
    .optional()
    .describe("Image beside the name: an https URL, or a path of this host such as `/logo.svg`."),
  greeting: words(200).optional().describe("Heading of an empty conversation."),
  accent: z
    .string()
    .regex(/^#[0-9a-fA-F]{6}$/, "must be a colour such as #0f5f66")
    .optional()
    .describe(
      "Colour of buttons and links, as `#rrggbb`; made darker or lighter where it could not be read.",
    ),
  favicon: imageAddress.optional().describe("Icon of the browser's tab, as for `logo`."),
  images: ImagesSection.optional().describe(
    "Images in answers that the page loads; without it, answers show links to images.",
  ),
});

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
  utilityModel: rig.optional().describe("Model for titles and summaries; defaults to the first of `models`."),
  compaction: z
    .enum(["summary", "cut"])
    .default("summary")
    .describe(
      "What happens when a conversation fills 70 % of the model's context window. `summary`: the utility model summarizes the earlier messages, and the summary replaces them in prompts. `cut`: prompts contain only the latest messages, as they do until a summary exists.",
    ),
  instructions: text.optional().describe("System prompt of every conversation."),
  suggestions: z
    .array(z.string().trim().min(1, "must not be blank").max(200, "must have at most 200 characters"))
    .max(6, "may have at most six")
    .optional()
    .describe(
      "First messages that clients offer in an empty conversation, at most six; `[]` for none. Without it, some that fit the tools.",
    ),
  branding: BrandingSection.optional().describe("How the console presents the App. Public, without a key."),
  tools: z
    .union([z.array(z.enum(BUILT_IN_TOOLS)), z.record(toolName, ToolValue)])
    .default([...DEFAULT_TOOLS])
    .describe("A list of built-in tools, or an object of names with `true` or a custom tool."),
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
      "Whether a person must approve calls, by tool name: `always`, `never` (the default), or in a module a function of the input and the turn; if it throws, approval is required. An object also sets the time limit, the reminder and the approvers.",
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
    .enum(["enqueue", "reject", "interrupt", "steer"])
    .default("enqueue")
    .describe(
      "A message during a running turn: `enqueue` it, `reject` it with 409, `interrupt` the turn, or `steer` it: the turn reads the message before its next model call.",
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

/** Returns the schema of an App with the sections of these plugins. */
export function appSection(plugins: readonly Plugin[]): typeof AppSection {
  const sections = plugins.filter(isToolSource).map((plugin) => [plugin.name, sectionOf(plugin)] as const);
  return AppSection.extend(Object.fromEntries(sections)) as unknown as typeof AppSection;
}

function sectionOf({ settings, entries = false, description = "" }: ToolSourcePlugin): z.ZodType {
  const section = entries ? z.record(entryName, settings) : settings;
  return section.optional().describe(description);
}

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

/** Returns true for an address that a page's policy can name exactly: no credentials, and none of its separators. */
function isImageAddress(value: string): boolean {
  if (!/^[!-~]+$/.test(value) || /[\\"'<>;,]/.test(value)) return false;
  if (value.startsWith("/")) return !value.startsWith("//");
  const url = URL.parse(value);
  return url !== null && url.protocol === "https:" && url.username === "" && url.password === "";
}

/** A path that ends with `/` allows all below it in a Content-Security-Policy, and the query never counts there. */
function isImageProxy(value: string): boolean {
  const [before = "", after, ...more] = value.split("{url}");
  const place = before.includes("?") || (before.endsWith("/") && after === "");
  return (
    after !== undefined &&
    more.length === 0 &&
    place &&
    !before.startsWith("/") &&
    isImageAddress(before + after)
  );
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
