import type { JsonObject } from "../../core/json.ts";
import { listAt, objectAt } from "./fields.ts";

/** All that a part of an `allOf` may have for the parts to be joined into one. */
const joinable: ReadonlySet<string> = new Set([
  "type",
  "properties",
  "required",
  "description",
  "additionalProperties",
  "default",
]);

/**
 * A schema and the parts of its `allOf` as one: an object with the properties of all, where they are objects and no more; the part itself
 * where there is one that is only described anew; else `allOf` as it was.
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
    // Not by assignment: a property `__proto__` is a property like any other.
    properties: Object.fromEntries(all.flatMap((part) => Object.entries(objectAt(part, "properties") ?? {}))),
    ...(required.length > 0 && { required }),
  };
}

function isObject(schema: JsonObject): boolean {
  const { type } = schema;
  return (type === undefined || type === "object") && Object.keys(schema).every((key) => joinable.has(key));
}
