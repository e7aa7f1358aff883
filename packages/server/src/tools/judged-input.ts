// The input of a call as it is judged, shown and run. A schema of the configuration file may make something else of what the model sent
// (defaults, transforms): a person and a rule see what the tool will get, and the tool gets what they saw.

import { sameJson, type JsonValue } from "../core/json.ts";
import { toJson } from "./json-output.ts";

/** In the place of an input that is not JSON. */
const UNSHOWN_INPUT = "The input cannot be shown.";

const PLAIN_TYPES: ReadonlySet<string> = new Set(["string", "number", "boolean"]);

/** What is shown of an input, and kept of it with its call. */
export function shownInput(value: unknown): JsonValue {
  try {
    return toJson(value);
  } catch {
    return UNSHOWN_INPUT;
  }
}

/**
 * The value to run a call with, `null` when it must not run. `value` is what the schema makes of the arguments now, `judged` what was
 * shown of them before. Where a schema makes something else of them each time (a date, an id), that which was judged runs, if a
 * tool can be given it: what is no JSON by itself cannot be kept.
 */
export function judgedValue(
  value: unknown,
  { sent, judged }: { readonly sent: unknown; readonly judged: JsonValue },
): { readonly value: unknown } | null {
  if (sameJson(shownInput(value), judged)) return { value };
  const wasMade = judged !== UNSHOWN_INPUT && !sameJson(shownInput(sent), judged);
  return wasMade && isPlain(value) ? { value: judged } : null;
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object") return value === undefined || PLAIN_TYPES.has(typeof value);
  if (value === null) return true;
  if (Array.isArray(value)) return value.every(isPlain);
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === null || prototype === Object.prototype) && Object.values(value).every(isPlain);
}
