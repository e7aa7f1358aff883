// User state: a client's unverified claims about its user (wallet, chain, connection).

import { isDeeperThan, isJsonObject, sameJson, type JsonObject, type JsonValue } from "./json.ts";

export const USER_STATE_MAX_BYTES = 8 * 1024;
const USER_STATE_MAX_DEPTH = 16;

/**
 * Merges `patch` into `base`: merges objects deeply and replaces other values, including `null` (contract
 * section 4). Returns `base` itself if nothing changes, so that nothing is written.
 */
export function mergeUserState(base: JsonObject | null, patch: JsonObject): JsonObject | null {
  if (base === null) return Object.keys(patch).length === 0 ? null : patch;
  return mergeObjects(base, patch);
}

/** Returns true if a merged state is within the limits: 8 KiB as JSON, depth 16. */
export function userStateFits(state: JsonObject): boolean {
  return (
    !isDeeperThan(USER_STATE_MAX_DEPTH, state) &&
    new TextEncoder().encode(JSON.stringify(state)).length <= USER_STATE_MAX_BYTES
  );
}

type JsonType = "boolean" | "number" | "string";

/**
 * Types of the fields that the specification names, as in the protocol's schema `UserState`. Each field may
 * also be null.
 */
const FIELD_TYPES: Readonly<Record<string, Readonly<Record<string, readonly JsonType[]>>>> = {
  connection: { is_connected: ["boolean"] },
  evm: { address: ["string"], chain_id: ["number", "string"] },
};

/**
 * Returns the state without values of a wrong type, which older versions stored. Returns `state` itself if
 * there are none.
 */
export function withoutWrongTypes(state: JsonObject): JsonObject {
  let valid = state;
  for (const [name, fields] of Object.entries(FIELD_TYPES)) {
    const part = state[name] ?? null;
    if (part === null) continue;
    const validPart = isJsonObject(part) ? withoutWrongFields(part, fields) : undefined;
    if (validPart === undefined) valid = without(valid, name);
    else if (validPart !== part) valid = { ...valid, [name]: validPart };
  }
  return valid;
}

function withoutWrongFields(
  part: JsonObject,
  fields: Readonly<Record<string, readonly JsonType[]>>,
): JsonObject {
  let valid = part;
  for (const [name, types] of Object.entries(fields)) {
    const value = part[name] ?? null;
    if (value !== null && !types.some((type) => typeof value === type)) valid = without(valid, name);
  }
  return valid;
}

function without(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}

function mergeObjects(base: JsonObject, patch: JsonObject): JsonObject {
  let merged: Record<string, JsonValue> | null = null;
  for (const [key, value] of Object.entries(patch)) {
    const current = Object.hasOwn(base, key) ? base[key] : undefined;
    const next = isJsonObject(current) && isJsonObject(value) ? mergeObjects(current, value) : value;
    if (current !== undefined && sameJson(current, next)) continue;
    merged ??= { ...base };
    // defineProperty, because a key may be "__proto__".
    Object.defineProperty(merged, key, { value: next, enumerable: true, configurable: true, writable: true });
  }
  return merged ?? base;
}

const PRINTABLE_WITHOUT_SPACE = /^[^\s\p{C}]{1,128}$/u;

/**
 * Normalizes a wallet address for storage and comparison, or returns `null` if it is invalid: 1 to 128 printable characters
 * without white space; `0x` addresses in lower case (contract section 4).
 */
export function parsePublicKey(text: string): string | null {
  if (text.length > 128 || !PRINTABLE_WITHOUT_SPACE.test(text)) return null;
  return /^0x/i.test(text) ? text.toLowerCase() : text;
}
