import { isJsonObject, type JsonObject } from "@colloquy/server/protocol";

/** Returns the object in a field, or an empty object. */
export function objectAt(value: JsonObject, name: string): JsonObject {
  const found = value[name];
  return isJsonObject(found) ? found : {};
}

/** Returns the string in a field, or an empty string. */
export function textAt(value: JsonObject, name: string): string {
  const found = value[name];
  return typeof found === "string" ? found : "";
}
