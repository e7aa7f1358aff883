// Session metadata: a JSON object that clients attach and the service does not interpret.

import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

export const METADATA_MAX_BYTES = 4 * 1024;
const METADATA_MAX_DEPTH = 16;

/** Returns true if the metadata is within the limits: 4 KiB of JSON, nested at most 16 deep. */
export function metadataFits(metadata: JsonObject): boolean {
  return (
    !isDeeperThan(METADATA_MAX_DEPTH, metadata) &&
    Buffer.byteLength(JSON.stringify(metadata)) <= METADATA_MAX_BYTES
  );
}

/**
 * Applies a merge patch (RFC 7396): `null` removes a member, objects merge, other values replace. Recursive; the body
 * parser limits the depth of `patch`.
 */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map<string, JsonValue>(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    const before = merged.get(name);
    if (value === null) merged.delete(name);
    else if (isJsonObject(value)) merged.set(name, mergePatch(isJsonObject(before) ? before : {}, value));
    else merged.set(name, value);
  }
  // `fromEntries`, because assigning to `__proto__` would set the prototype.
  return Object.fromEntries(merged);
}
