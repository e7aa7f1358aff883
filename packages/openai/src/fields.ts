// Rules for the accepted fields of a request. A field without a rule, or with a value that its rule rejects, causes a
// 400 with the field's name.

import type { JsonObject, JsonValue } from "./json.ts";
import { isJsonObject } from "./json.ts";
import { unsupported } from "./errors.ts";

/** Returns true if the value is accepted. Not called for `null`, which is accepted like an absent field. */
type Rule = (value: JsonValue) => boolean;

/** Accepts any value; the code that reads the field validates it. */
export const ANY: Rule = () => true;
/** Accepts only these values, which request the default behavior. */
export const only =
  (...values: readonly JsonValue[]): Rule =>
  (value) =>
    values.includes(value);
/** Accepts an array of these values. */
export const someOf =
  (...values: readonly JsonValue[]): Rule =>
  (value) =>
    Array.isArray(value) && value.every((item) => values.includes(item));
/** Accepts an object whose fields match these rules. */
export const fields =
  (rules: Readonly<Record<string, Rule>>): Rule =>
  (value) =>
    isJsonObject(value) && Object.entries(value).every(([name, inner]) => accepts(rules, name, inner));

function accepts(rules: Readonly<Record<string, Rule>>, name: string, value: JsonValue): boolean {
  // Not an inherited property, such as that of a field `__proto__`.
  const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
  return value === null || rule?.(value) === true;
}

/** Throws a `ServiceError` 400 for the first rejected field. */
export function checkFields(body: JsonObject, rules: Readonly<Record<string, Rule>>): void {
  const rejected = Object.entries(body).find(([name, value]) => !accepts(rules, name, value));
  if (rejected === undefined) return;
  throw unsupported(rejected[0], "Omit it; docs/protocols/openai.md lists the supported fields.");
}

/** Fields that affect neither the answer nor the stored data. */
export const WITHOUT_EFFECT: Readonly<Record<string, Rule>> = {
  user: ANY,
  safety_identifier: ANY,
  prompt_cache_key: ANY,
  prompt_cache_retention: ANY,
  presence_penalty: only(0),
  frequency_penalty: only(0),
  top_logprobs: only(0),
  service_tier: only("auto", "default"),
  parallel_tool_calls: only(true),
};
