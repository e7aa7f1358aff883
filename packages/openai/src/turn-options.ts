// Converts the model, tools, response format and sampling parameters of a request to options of a turn.

import type { ProtocolMessage } from "@colloquy/server/protocol";
import { invalid, unsupported } from "./errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { textOf } from "./response-input.ts";

type Options = NonNullable<ProtocolMessage["options"]>;
type Sampling = NonNullable<Options["sampling"]>;
type ToolChoice = NonNullable<Options["toolChoice"]>;

/** A parsed model id: `app` or `app/provider/model`. */
export interface NamedModel {
  readonly app: string;
  /** `provider/model`; `null` for the model that the conversation uses, or the App's default model. */
  readonly rig: string | null;
}

export function readModel(model: string): NamedModel {
  const slash = model.indexOf("/");
  return slash < 0 ? { app: model, rig: null } : { app: model.slice(0, slash), rig: model.slice(slash + 1) };
}

/**
 * Converts function tools to `client_tools` (docs/api.md); `null` if there are none. `inner` is the field with the
 * function definition in Chat Completions. Throws a `ServiceError` 400 with the name of the invalid field.
 */
export function readTools(tools: JsonValue, inner: "function" | null): JsonObject | null {
  if (tools === null) return null;
  if (!Array.isArray(tools)) throw invalid("tools", "must be an array");
  if (tools.length === 0) return null;
  const read = tools.map((tool, index): [string, JsonObject] => {
    const field = `tools[${index}]`;
    if (!isJsonObject(tool)) throw invalid(field, "must be an object");
    if (tool["type"] !== "function")
      throw unsupported(`${field}.type`, "Send only function tools. Other tools are configured in the App.");
    const definition = inner === null ? tool : (tool[inner] ?? null);
    if (!isJsonObject(definition)) throw invalid(`${field}.${inner}`, "must be an object");
    const name = textOf(definition, "name", field);
    const { description, parameters } = definition;
    return [
      name,
      {
        description: typeof description === "string" && description !== "" ? description : name,
        inputSchema: isJsonObject(parameters) ? parameters : { type: "object", properties: {} },
      },
    ];
  });
  return Object.fromEntries(read);
}

/**
 * Returns the choice of tools; `null` for the model's own. `tools` are those of the request, from `readTools`; `inner`
 * is as there. Throws a `ServiceError` 400 for `tool_choice`.
 */
export function readToolChoice(
  choice: JsonValue,
  tools: JsonObject | null,
  inner: "function" | null,
): ToolChoice | null {
  if (choice === null || choice === "auto") return null;
  if (choice === "none" || choice === "required") return choice;
  if (!isJsonObject(choice) || choice["type"] !== "function")
    throw unsupported("tool_choice", 'Use "auto", "none", "required" or a function of "tools".');
  const named = inner === null ? choice : choice[inner];
  const name = isJsonObject(named) ? named["name"] : null;
  if (typeof name === "string" && tools !== null && Object.hasOwn(tools, name)) return { tool: name };
  throw invalid("tool_choice", 'must name a function of "tools"');
}

/**
 * Returns the sampling parameters; `null` for the provider's defaults. `maximums` are the fields for the maximum
 * output tokens, in order of precedence. Throws a `ServiceError` 400 with the name of the invalid field.
 */
export function readSampling(body: JsonObject, ...maximums: readonly string[]): Sampling | null {
  const temperature = numberIn(body, "temperature", 2);
  const topP = numberIn(body, "top_p", 1);
  const [maximum = null] = maximums.flatMap((name) => countIn(body, name) ?? []);
  const sampling = {
    ...(temperature !== null && { temperature }),
    ...(topP !== null && { topP }),
    ...(maximum !== null && { maxOutputTokens: maximum }),
  };
  return Object.keys(sampling).length === 0 ? null : sampling;
}

function numberIn(body: JsonObject, name: string, most: number): number | null {
  const value = body[name] ?? null;
  if (value === null || (typeof value === "number" && value >= 0 && value <= most)) return value;
  throw invalid(name, `must be a number from 0 to ${most}`);
}

function countIn(body: JsonObject, name: string): number | null {
  const value = body[name] ?? null;
  if (value === null || (Number.isSafeInteger(value) && (value as number) > 0)) return value as number | null;
  throw invalid(name, "must be a positive integer");
}

/**
 * Returns the JSON Schema of the answer; `null` for text. `inner` is the field with the schema in Chat Completions.
 * Throws a `ServiceError` 400 with the name of the invalid field.
 */
export function readFormat(format: JsonValue, field: string, inner: "json_schema" | null): JsonObject | null {
  if (format === null) return null;
  if (!isJsonObject(format)) throw invalid(field, "must be an object");
  switch (format["type"]) {
    case "text":
      return null;
    case "json_object":
      return { type: "object" };
    case "json_schema": {
      const holder = inner === null ? format : (format[inner] ?? null);
      const schema = isJsonObject(holder) ? holder["schema"] : null;
      if (isJsonObject(schema)) return schema;
      throw invalid(`${field}.schema`, "must be a JSON Schema");
    }
    default:
      throw unsupported(`${field}.type`, 'Use "text", "json_object" or "json_schema".');
  }
}
