// Converts a schema of an OpenAPI document to JSON Schema for models: inlines references, unifies the two
// versions of OpenAPI, and keeps only the keywords about the shape of the input.

import { isJsonObject, type JsonObject, type JsonValue } from "@colloquy/engine/tool-source";
import { cutText, isSmall, listAt, objectAt, textAt, follow } from "./fields.ts";

/**
 * Limits of the schemas per tool. Beyond these limits a schema allows anything, because the service checks
 * its input.
 */
const maximumSchemas = 1_000;
const maximumDepth = 16;
const maximumDescription = 500;
/** Maximum number of values within a default or an enum. */
const maximumValues = 500;
/** What looking at a larger one costs, in schemas. */
const costOfLarge = 100;
/** Keywords and required names that count as another schema. */
const partsOfSchema = 100;

const copied: ReadonlySet<string> = new Set(
  (
    "type enum const format default pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum " +
    "minLength maxLength minItems maxItems uniqueItems minProperties maxProperties"
  ).split(" "),
);

/** Reads the schemas of one operation. Not reusable: its limits apply to the whole operation. */
export class SchemaReader {
  readonly #document: JsonObject;
  /** References that are being inlined. Inlining one of them again would recurse forever. */
  readonly #open = new Set<string>();
  #left = maximumSchemas;

  constructor(document: JsonObject) {
    this.#document = document;
  }

  /** @throws Error for a reference that cannot be resolved. */
  read(schema: JsonValue | undefined, depth = 0): JsonObject {
    return this.#read(schema, depth, false) ?? {};
  }

  /** Returns `null` for a read-only schema if those are hidden. */
  #read(schema: JsonValue | undefined, depth: number, hidesReadOnly: boolean): JsonObject | null {
    this.#left -= 1;
    if (schema === false) return { not: {} };
    if (schema === undefined || depth > maximumDepth || this.#left < 0) return {};
    const { value, reference } = follow(this.#document, schema);
    if (!isJsonObject(value)) return {};
    if (hidesReadOnly && value["readOnly"] === true) return null;
    if (reference === null) return this.#convert(value, depth);
    if (this.#open.has(reference)) return {};
    this.#open.add(reference);
    try {
      return this.#convert(value, depth);
    } finally {
      this.#open.delete(reference);
    }
  }

  #convert(schema: JsonObject, depth: number): JsonObject {
    const entries = Object.entries(schema);
    // Many references to a large schema must not multiply it.
    this.#left -= Math.floor((entries.length + listAt(schema, "required").length) / partsOfSchema);
    const result: JsonObject = {};
    for (const [key, value] of entries) {
      if (!copied.has(key)) continue;
      if (isSmall(value, maximumValues)) result[key] = value;
      else this.#left -= costOfLarge;
    }
    const description = textAt(schema, "description");
    if (description !== "") result["description"] = cutText(description, maximumDescription);
    readLimits(result);
    this.#readProperties(schema, result, depth);
    if (schema["items"] !== undefined) {
      result["items"] = this.read(schema["items"], depth + 1);
      result["type"] ??= "array";
    }
    for (const key of ["anyOf", "oneOf"]) {
      const branches = listAt(schema, key);
      if (branches.length > 0) result[key] = branches.map((branch) => this.read(branch, depth + 1));
    }
    const parts = listAt(schema, "allOf").map((part) => this.read(part, depth + 1));
    const joined = parts.length > 0 ? joinAllOf(result, parts) : result;
    return schema["nullable"] === true ? orNull(joined) : joined;
  }

  /** Omits read-only properties, which only responses have. */
  #readProperties(schema: JsonObject, result: JsonObject, depth: number): void {
    const properties = objectAt(schema, "properties");
    const hidden = new Set<JsonValue>();
    if (properties !== null) {
      const entries: Array<readonly [string, JsonValue]> = [];
      for (const [name, property] of Object.entries(properties)) {
        const read = this.#read(property, depth + 1, true);
        if (read === null) hidden.add(name);
        else entries.push([name, read]);
      }
      result["type"] ??= "object";
      result["properties"] = Object.fromEntries(entries);
    }
    const required = listAt(schema, "required").filter(
      (name) => typeof name === "string" && !hidden.has(name),
    );
    if (required.length > 0) result["required"] = required;
    const { additionalProperties } = schema;
    if (typeof additionalProperties === "boolean") result["additionalProperties"] = additionalProperties;
    else if (additionalProperties !== undefined) {
      result["additionalProperties"] = this.read(additionalProperties, depth + 1);
    }
  }
}

/** Converts `exclusiveMinimum`: a boolean beside `minimum` in OpenAPI 3.0, and the limit itself in 3.1. */
function readLimits(schema: JsonObject): void {
  for (const [exclusive, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    const value = schema[exclusive];
    if (typeof value !== "boolean") continue;
    delete schema[exclusive];
    const bound = schema[limit];
    if (!value || typeof bound !== "number") continue;
    delete schema[limit];
    schema[exclusive] = bound;
  }
}

/** Converts `nullable` of OpenAPI 3.0 to the type `null`. */
function orNull(schema: JsonObject): JsonObject {
  const { type } = schema;
  if (typeof type !== "string" || schema["allOf"] !== undefined) return { anyOf: [schema, { type: "null" }] };
  const withNull: JsonObject = { ...schema, type: [type, "null"] };
  const { enum: values } = schema;
  if (Array.isArray(values) && !values.includes(null)) withNull["enum"] = [...values, null];
  return withNull;
}

/** The only keywords that mergeable parts of an `allOf` may have. */
const joinable: ReadonlySet<string> = new Set(
  "type properties required description additionalProperties default".split(" "),
);

/**
 * Merges a schema with the parts of its `allOf`: into one object schema if all are plain objects; into the
 * only part if the schema just adds a description; otherwise keeps `allOf`.
 */
function joinAllOf(own: JsonObject, parts: readonly JsonObject[]): JsonObject {
  if (parts.length === 1 && Object.keys(own).every((key) => key === "description")) {
    return { ...parts[0], ...own };
  }
  const all = [...parts, own];
  if (!all.every(isObject)) return { ...own, allOf: [...parts] };
  const required = [...new Set(all.flatMap((part) => listAt(part, "required")))];
  const description = all.map((part) => part["description"]).findLast((text) => text !== undefined);
  return {
    type: "object",
    ...(description !== undefined && { description }),
    // Unlike assignment, `fromEntries` keeps `__proto__` an ordinary property.
    properties: Object.fromEntries(all.flatMap((part) => Object.entries(objectAt(part, "properties") ?? {}))),
    ...(required.length > 0 && { required }),
  };
}

function isObject(schema: JsonObject): boolean {
  const { type } = schema;
  return (type === undefined || type === "object") && Object.keys(schema).every((key) => joinable.has(key));
}
