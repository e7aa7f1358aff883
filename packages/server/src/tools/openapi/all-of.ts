import type { JsonObject } from "../../core/json.ts";
import { listAt, objectAt } from "./fields.ts";

/** The only keywords that parts of an `allOf` may have to be merged. */
const joinable: ReadonlySet<string> = new Set([
  "type",
  "properties",
  "required",
  "description",
  "additionalProperties",
  "default",
]);

/**
 * Merges a schema with the parts of its `allOf`: into one object schema if all are plain objects; into the
 * only part if the schema just adds a description; otherwise keeps `allOf`.
 */
export function joinAllOf(own: JsonObject, parts: readonly JsonObject[]): JsonObject {
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
