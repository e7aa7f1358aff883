// Public API for authors of tool sources: `defineToolSource`, and the parts with which the bundled sources read settings, fill
// and hide secrets, and bound what servers send. Loads neither the engine nor a database.

export { acceptEncodings, boundBody, type BodyBound, withBody } from "./core/bounded-body.ts";
export { Hidden } from "./core/hidden.ts";
export {
  cleanJson,
  cleanText,
  isDeeperThan,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "./core/json.ts";
export {
  defineTool,
  defineToolSource,
  type GuardedFetch,
  type PluginSource,
  type PluginTool,
  type SourceContext,
  type SourceFindings,
  type SourceScope,
  type ToolSourceDefinition,
  type ToolSourcePlugin,
  ToolsUnavailable,
} from "./core/plugins/tool-source.ts";
export type { Clock, Timer } from "./core/ports/driven/clock.ts";
export type { Logger } from "./core/ports/driven/logger.ts";
export type { SchemaCheck, SchemaProblem } from "./core/ports/driven/schema-check.ts";
export {
  SecretMissing,
  type ToolContext,
  type ToolEffect,
  type ToolFile,
  type ToolTurn,
} from "./core/ports/driven/tool.ts";
export { baseURL, headers, isServerURL, SERVER_URL_RULE, text } from "./core/setting-schemas.ts";
export { untilAborted, within } from "./core/waiting.ts";
export { messageOf } from "./tools/call-tool.ts";
export { OutboundError, type OutboundFailure } from "./tools/outbound/outbound-error.ts";
export { ReconnectPlan, type ReconnectPlanOptions } from "./tools/reconnect-plan.ts";
export { createScrubber, type Scrubber, scrubText } from "./tools/scrub.ts";
export { Beginning } from "./tools/scrubbed-beginning.ts";
export { fillSecrets, headerScrubber, keysInVariables, secretsIn } from "./tools/secret-headers.ts";
export { checkableSchema, mismatchWith } from "./tools/server-schema.ts";
export { toolNameOf } from "./tools/tool-source.ts";
