// Options of a chat that hold JSON Schemas. Reading them costs far more than their bytes, so it comes after
// permission, access and budgets: until then they are values of any form.

import { ClientTool, ClientToolName } from "@colloquy/protocol";
import { z } from "zod";
import { clientSchemaProblem, responseSchemaProblem, TOOL_INPUT_RULES } from "./client-schema.ts";
import { InvalidRequest } from "./errors.ts";
import { invalidParameter } from "./invalid-parameter.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { countValues, MAX_SCHEMA_VALUES } from "./schema-size.ts";
import type { Sampling, ToolChoice, TurnOptions } from "./turn-options.ts";

/** The options as they were sent. Absent, `undefined` or `null` if they were not. */
export interface RequestedOptions {
  readonly clientTools?: unknown;
  readonly responseSchema?: unknown;
  // Options of protocols, which validate them.
  /** As in `TurnOptions`; at most 32,768 characters. */
  readonly instructions?: string | null;
  readonly sampling?: Sampling | null;
  /** As in `TurnOptions`; a tool by name is one of `clientTools`. */
  readonly toolChoice?: ToolChoice | null;
  /** As in `TurnOptions`; at most 64 KiB of JSON. */
  readonly note?: JsonObject | null;
}

const MAX_INSTRUCTIONS = 32_768;
const MAX_NOTE_BYTES = 64 * 1024;

const MAX_TOOLS = 16;

/** Not a zod record alone, which would silently drop a tool named `__proto__`, and read any number of tools. */
const OfferedTools = z
  .unknown()
  .superRefine((tools, context) => {
    if (!isJsonObject(tools)) return;
    if (Object.keys(tools).length > MAX_TOOLS)
      context.addIssue({ code: "custom", message: `must have at most ${MAX_TOOLS} tools` });
    if (Object.hasOwn(tools, "__proto__"))
      context.addIssue({ code: "custom", message: 'must have no tool "__proto__"' });
  })
  .pipe(z.record(ClientToolName, ClientTool, "must be an object of tools by name"));

const { $schema: _, ...TOOLS_SCHEMA } = z.toJSONSchema(z.record(ClientToolName, ClientTool), { io: "input" });

/** `client_tools` of a chat, documented but not read. */
export const ClientToolsField = z.unknown().meta({
  ...TOOLS_SCHEMA,
  description:
    "Tools that the client offers for this message and runs itself, by name, at most 16. The App must allow them, and have no tool of that name. A schema has at most 16 KiB and 16 levels, all together have at most 4,096 values, and none has `pattern`, `patternProperties`, `format` or `$ref`.",
});

/** `response_schema` of a chat, documented but not read. */
export const ResponseSchemaField = z.unknown().meta({
  description:
    "JSON Schema of an object that the answer must match, which the message then has as `data`. At most 16 KiB, 32 levels and 4,096 values, " +
    'without `pattern`, `patternProperties` and `format`; `$ref` only to "#" and "#/$defs/NAME"',
  type: "object",
  examples: [{ type: "object", properties: { city: { type: "string" } }, required: ["city"] }],
});

/**
 * Reads the options of a chat that is permitted. Whether its schemas are valid is left to `SchemaCheck`.
 *
 * @throws InvalidRequest naming the field.
 */
export function readTurnOptions({
  clientTools,
  responseSchema,
  instructions = null,
  sampling = null,
  toolChoice = null,
  note = null,
}: RequestedOptions): TurnOptions {
  if (instructions !== null && instructions.length > MAX_INSTRUCTIONS)
    throw invalidField("instructions", `must have at most ${MAX_INSTRUCTIONS} characters`);
  if (note !== null && Buffer.byteLength(JSON.stringify(note)) > MAX_NOTE_BYTES)
    throw new InvalidRequest(
      "request_note_too_large",
      "Instructions, tools, formats and metadata of a request must have at most 64 KiB of JSON together.",
    );
  return {
    ...(instructions !== null && instructions !== "" && { instructions }),
    ...(sampling !== null && { sampling }),
    ...(toolChoice !== null && { toolChoice }),
    ...(note !== null && { note }),
    ...(isGiven(responseSchema) && { responseSchema: readResponseSchema(responseSchema) }),
    ...(isGiven(clientTools) && { clientTools: readOfferedTools(clientTools) }),
  };
}

/** Returns true for a value that is not `null`, which stands for an absent option. */
export function isGiven(option: unknown): boolean {
  return option !== undefined && option !== null;
}

/** Returns the error for the input schema of an offered tool. */
export function invalidToolSchema(tool: string, problem: string): InvalidRequest {
  return invalidField(`client_tools.${tool}.inputSchema`, problem);
}

function invalidField(field: string, problem: string): InvalidRequest {
  return new InvalidRequest("parameter_invalid", `The body field "${field}" ${problem}.`);
}

/** Returns the schema itself, because zod's copy would lose a key `__proto__`. */
function readResponseSchema(schema: unknown): JsonObject {
  const problem = isJsonObject(schema) ? responseSchemaProblem(schema) : "must be a JSON object";
  if (problem === null) return schema as JsonObject;
  throw invalidField("response_schema", problem);
}

function readOfferedTools(sent: unknown): NonNullable<TurnOptions["clientTools"]> {
  const fields = { client_tools: sent };
  const { data, error } = z.object({ client_tools: OfferedTools }).safeParse(fields);
  if (data === undefined) throw invalidParameter("body field", fields, error);
  // Sixteen schemas must not keep the checking thread busy sixteen times as long as one.
  let values = 0;
  for (const [name, { inputSchema }] of Object.entries(data.client_tools)) {
    const problem = clientSchemaProblem(inputSchema as JsonObject, TOOL_INPUT_RULES);
    if (problem !== null) throw invalidToolSchema(name, problem);
    values += countValues(inputSchema, MAX_SCHEMA_VALUES);
    if (values > MAX_SCHEMA_VALUES)
      throw invalidField("client_tools", `must have schemas of at most ${MAX_SCHEMA_VALUES} values together`);
  }
  return data.client_tools;
}
