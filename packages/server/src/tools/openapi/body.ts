// The JSON body of an operation. Its fields become inputs of the tool beside the parameters if possible;
// otherwise the body is one input.

import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { cutText, listAt, objectAt, textAt, follow } from "./fields.ts";
import type { InputNames } from "./parameter.ts";
import type { SchemaReader } from "./schema.ts";

export interface BodyPlan {
  readonly contentType: string;
  /** The input that is the whole body, or the body's field names by input name. */
  readonly from: string | ReadonlyMap<string, string>;
  readonly required: boolean;
}

export interface ReadBody {
  readonly plan: BodyPlan;
  readonly properties: ReadonlyArray<readonly [string, JsonObject]>;
  readonly required: readonly string[];
}

export interface BodyParts {
  readonly method: string;
  readonly schemas: SchemaReader;
  readonly names: InputNames;
  readonly onOmitted: (what: string) => void;
}

const jsonType = /^application\/(?:[\w.!#$&^-]+\+)?json\s*(?:;.*)?$/i;
const withoutBody = new Set(["get", "head"]);

/** @throws Error if the operation requires a body that is not JSON. */
export function readBody(
  document: JsonObject,
  written: JsonValue | undefined,
  { method, schemas, names, onOmitted }: BodyParts,
): ReadBody | null {
  const { value: body } = follow(document, written ?? null);
  // Such a body has no defined semantics (RFC 9110 section 9.3.1), and fetch does not send it.
  if (!isJsonObject(body) || withoutBody.has(method)) return null;
  const content = objectAt(body, "content");
  const types = Object.keys(content ?? {});
  if (types.length === 0) return null;
  const type = types.find((name) => jsonType.test(name)) ?? types.find((name) => name === "*/*");
  const required = body["required"] === true;
  if (type === undefined) {
    const what = `Its body is ${types.join(" or ").slice(0, 200)}, and only JSON is supported.`;
    if (required) throw new Error(what);
    onOmitted(what);
    return null;
  }
  const schema = schemas.read(objectAt(content, type)?.["schema"]);
  const contentType = type === "*/*" ? "application/json" : type;
  return isFlat(schema)
    ? joinFields(schema, names, { contentType, required })
    : asWhole(schema, body, names, { contentType, required });
}

/** Returns true for an object with declared properties only: they can be inputs beside the parameters. */
function isFlat(schema: JsonObject): boolean {
  const known = new Set(["type", "properties", "required", "description", "additionalProperties"]);
  return (
    schema["type"] === "object" &&
    Object.keys(objectAt(schema, "properties") ?? {}).length > 0 &&
    (schema["additionalProperties"] ?? false) === false &&
    Object.keys(schema).every((key) => known.has(key))
  );
}

function joinFields(schema: JsonObject, names: InputNames, plan: Omit<BodyPlan, "from">): ReadBody {
  const needed = new Set(listAt(schema, "required"));
  const from = new Map<string, string>();
  const properties: Array<readonly [string, JsonObject]> = [];
  const required: string[] = [];
  for (const [name, property] of Object.entries(objectAt(schema, "properties") ?? {})) {
    const input = names.give(name, "body");
    from.set(input, name);
    properties.push([input, isJsonObject(property) ? property : {}]);
    // An optional body has no required fields.
    if (plan.required && needed.has(name)) required.push(input);
  }
  return { plan: { ...plan, from }, properties, required };
}

function asWhole(
  schema: JsonObject,
  body: JsonObject,
  names: InputNames,
  plan: Omit<BodyPlan, "from">,
): ReadBody {
  const from = names.give("body", "whole");
  const description = cutText(textAt(body, "description"), 500);
  const described = description === "" ? schema : { description, ...schema };
  return { plan: { ...plan, from }, properties: [[from, described]], required: plan.required ? [from] : [] };
}
