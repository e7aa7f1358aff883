// Schema of one App in the configuration file. Patterns have no flags, because the JSON Schema generated from
// them (json-schema.ts) supports none. Checks across settings are in app-tools.ts and models.ts.

import { z } from "zod";
import type { ApprovalRule, OwnTool } from "../core/app-settings.ts";
import {
  APP_RATE_LIMITS,
  BASE_URL_RULE,
  headers,
  isBaseURL,
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

/** A value of `tools` when `tools` is an object. */
export const ToolValue = z.custom<true | OwnTool>((value) => value === true || isOwnTool(value), NOT_A_TOOL);
/** A value of `approvals`. */
export const ApprovalValue = z.custom<ApprovalRule>(
  (value) => value === "always" || value === "never" || typeof value === "function",
  NOT_A_RULE,
);

export const SlotSection = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/,
      "must be a name of at most 64 letters, digits and _, such as API_KEY",
    ),
  description: text,
  required: z.boolean().optional(),
});

export const McpSection = z.union([
  z.strictObject({
    url: z.string().refine(isServerURL, SERVER_URL_RULE).meta({ pattern: "^https?://" }),
    headers: headers.optional(),
  }),
  z.strictObject({
    command: text,
    args: z.array(z.string()).optional(),
    env: z
      .record(
        z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, "must be the name of an environment variable"),
        z.string(),
      )
      .optional(),
  }),
]);

export const OpenApiSection = z.strictObject({
  document: text,
  baseURL: z.string().refine(isBaseURL, BASE_URL_RULE).meta({ pattern: "^https?://" }).optional(),
  operations: z.array(text).min(1).optional(),
  headers: headers.optional(),
});

export const WalletSection = z.union([
  z.boolean(),
  z.strictObject({ chains: z.array(z.int().min(1)).min(1) }),
]);

export const AppSection = z.strictObject({
  description: text.optional(),
  models: z.array(rig).min(1).optional(),
  utilityModel: rig.optional(),
  instructions: text.optional(),
  tools: z.union([z.array(z.enum(BUILT_IN_TOOLS)), z.record(toolName, ToolValue)]).optional(),
  mcp: z.record(serverName, McpSection).optional(),
  openapi: z.record(serverName, OpenApiSection).optional(),
  wallet: WalletSection.optional(),
  effects: z.record(toolName, z.enum(["read", "idempotent", "unsafe"])).optional(),
  approvals: z.record(toolName, ApprovalValue).optional(),
  secrets: z.array(SlotSection).optional(),
  requireKey: z.enum(["chat", "all"]).optional(),
  onBusy: z.enum(["enqueue", "reject", "interrupt"]).optional(),
  rateLimits: z.strictObject(APP_RATE_LIMITS).optional(),
  expiry: z.strictObject({ emptyMs: period.optional(), unboundMs: period.optional() }).optional(),
});

export type AppSection = z.infer<typeof AppSection>;

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
