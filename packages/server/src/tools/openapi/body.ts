// The JSON body of an operation: its fields beside the parameters in the tool's input where that can be, else as a whole.

import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { cutText, listAt, objectAt, textAt } from "./fields.ts";
import type { InputNames } from "./input-names.ts";
import { follow } from "./references.ts";
import type { SchemaReader } from "./schema.ts";

export interface BodyPlan {
  readonly contentType: string;
  /** One field of the input that is the body, or fields of the input by the names they have in the body. */
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
  readonly onLeftOut: (what: string) => void;
}

const jsonType = /^application\/(?:[\w.!#$&^-]+\+)?json\s*(?:;.*)?$/i;
const withoutBody = new Set(["get", "head"]);

/** @throws Error when the operation needs a body of another type. */
export function readBody(
  document: JsonObject,
  written: JsonValue | undefined,
  { method, schemas, names, onLeftOut }: BodyParts,
): ReadBody | null {
  const { value: body } = follow(document, written ?? null);
  // HTTP gives such a body no meaning (RFC 9110 section 9.3.1), and fetch does not send it.
  if (!isJsonObject(body) || withoutBody.has(method)) return null;
  const content = objectAt(body, "content");
  const types = Object.keys(content ?? {});
  if (types.length === 0) return null;
  const type = types.find((name) => jsonType.test(name)) ?? types.find((name) => name === "*/*");
  const required = body["required"] === true;
  if (type === undefined) {
    const what = `Its body is ${types.join(" or ").slice(0, 200)}, and only JSON is supported.`;
    if (required) throw new Error(what);
    onLeftOut(what);
    return null;
  }
  const schema = schemas.read(objectAt(content, type)?.["schema"]);
  const contentType = type === "*/*" ? "application/json" : type;
  return isFlat(schema)
    ? joinFields(schema, names, { contentType, required })
    : asWhole(schema, body, names, { contentType, required });
}

/** An object with just the properties that it names: these can stand beside the parameters. */
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
    // A body that may be absent may be without them.
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
