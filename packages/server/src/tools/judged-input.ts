// Keeps the input that was approved identical to the input that runs. A configured schema may change what the
// model sent (defaults, transforms): the rule and the person see the result, and the tool gets what they saw.

import { sameJson, type JsonValue } from "../core/json.ts";
import { toJson } from "./json-output.ts";

/** Shown instead of an input that is not JSON. */
const UNSHOWN_INPUT = "The input cannot be shown.";

const PLAIN_TYPES: ReadonlySet<string> = new Set(["string", "number", "boolean"]);

/** Returns the input as it is shown to a person and stored with its call. */
export function shownInput(value: unknown): JsonValue {
  try {
    return toJson(value);
  } catch {
    return UNSHOWN_INPUT;
  }
}

/**
 * Returns the value to run a call with, or `null` if it must not run. `value` is what the schema makes of the
 * arguments now, `judged` is what was shown before. If a schema yields a different result each time (a date,
 * an id), the judged input runs, provided that it is plain JSON; other values cannot be stored.
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
