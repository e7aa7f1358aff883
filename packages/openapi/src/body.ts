// JSON and form bodies of operations. If possible, the fields of a body become inputs of the tool beside the
// parameters; otherwise the whole body is one input.

import { isJsonObject, type JsonObject, type JsonValue } from "@colloquy/engine/tool-source";
import { cutText, listAt, objectAt, textAt, follow } from "./fields.ts";
import { type InputNames, type ParameterPlan, queryPairs } from "./parameter.ts";
import type { SchemaReader } from "./schema.ts";

export interface BodyPlan {
  readonly contentType: string;
  /** Name of the input for the whole body, or the body's field names by input name. */
  readonly from: string | ReadonlyMap<string, string>;
  readonly required: boolean;
  /** Serializes the body. */
  readonly write: (value: JsonValue) => string;
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
const formType = /^application\/x-www-form-urlencoded\s*(?:;.*)?$/i;
const withoutBody = new Set(["get", "head"]);

/** @throws Error if the operation requires a body that is neither JSON nor a form */
export function readBody(
  document: JsonObject,
  written: JsonValue | undefined,
  { method, schemas, names, onOmitted }: BodyParts,
): ReadBody | null {
  const { value: body } = follow(document, written ?? null);
  // Bodies of GET and HEAD have no defined semantics (RFC 9110 section 9.3.1), and fetch rejects them.
  if (!isJsonObject(body) || withoutBody.has(method)) return null;
  const content = objectAt(body, "content");
  const types = Object.keys(content ?? {});
  if (types.length === 0) return null;
  const type =
    types.find((name) => jsonType.test(name)) ??
    types.find((name) => name === "*/*") ??
    types.find((name) => formType.test(name));
  const required = body["required"] === true;
  if (type === undefined) {
    const what = `Its body is ${types.join(" or ").slice(0, 200)}, and only JSON and forms without files are supported.`;
    if (required) throw new Error(what);
    onOmitted(what);
    return null;
  }
  const media = objectAt(content, type);
  const schema = schemas.read(media?.["schema"]);
  const encoding = objectAt(media, "encoding");
  const plan = {
    contentType: type === "*/*" ? "application/json" : type,
    required,
    write: formType.test(type) ? (value: JsonValue) => formText(encoding, value) : JSON.stringify,
  };
  return isFlat(schema) ? joinFields(schema, names, plan) : asWhole(schema, body, names, plan);
}

const formStyles = ["form", "spaceDelimited", "pipeDelimited", "deepObject"] as const;

/**
 * Serializes a form according to its encoding object. By default, arrays become repeated fields, and objects
 * JSON.
 */
function formText(encoding: JsonObject | null, value: JsonValue): string {
  const fields = Object.entries(isJsonObject(value) ? value : {}).filter(([, field]) => field !== null);
  const pairs = fields.flatMap(([name, field]) => {
    const said = objectAt(encoding, name);
    const style = formStyles.find((known) => known === textAt(said, "style"));
    const explode = said?.["explode"] ?? (style === undefined || style === "form");
    const isJson = jsonType.test(textAt(said, "contentType")) || (style === undefined && isJsonObject(field));
    const plan: ParameterPlan = {
      input: name,
      name,
      place: "query",
      style: style ?? "form",
      explode: explode === true,
      isJson,
    };
    return queryPairs(plan, field);
  });
  return pairs.join("&");
}

/**
 * Returns true for an object schema without additional properties, whose fields can be inputs of the tool.
 */
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
    // The fields of an optional body are optional too.
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
