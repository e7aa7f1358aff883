// `{{env.NAME}}` is filled in when the file is read; `{{secret.NAME}}` stays until a tool call fills in the user's value.
// Problems never quote the value of a placeholder.

import type { Findings } from "./problem.ts";
import { suggestion } from "../core/nearest-name.ts";
import { HEADER_VALUE_RULE, isHeaderValue } from "../core/setting-schemas.ts";
import { readSecret, type Environment } from "./secret-variable.ts";

/** A likely placeholder without two braces on each side. Matched after complete placeholders are removed. */
const MALFORMED = /\{\s*(?:env|secret)\s*\.|(?:env|secret)\s*\.\s*\w+\s*\}/;
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

export interface Filling {
  readonly environment: Environment;
  readonly findings: Findings;
  /** Slots that `{{secret.NAME}}` may name; `null` where secrets are not allowed, `"any"` if the slots are invalid. */
  readonly slots: readonly string[] | "any" | null;
}

/** Returns `value` with the variables filled in. An invalid placeholder adds a problem at `path` and stays as it is. */
export function fillPlaceholders(value: string, path: readonly PropertyKey[], filling: Filling): string {
  const { environment, findings, slots } = filling;
  // Check the text of the file, not the filled-in result: the value of a variable may contain anything.
  if (MALFORMED.test(value.replaceAll(PLACEHOLDER, "")))
    findings.problem(
      path,
      "has a placeholder with braces that do not match. Write {{env.NAME}} or {{secret.NAME}}.",
    );
  return value.replaceAll(PLACEHOLDER, (whole, inner: string) => {
    const [, kind, name = ""] = /^\s*(env|secret)\.([a-zA-Z_][a-zA-Z0-9_]*)\s*$/.exec(inner) ?? [];
    if (kind === undefined) {
      // Do not quote the text between the braces: it may be the key itself.
      findings.problem(
        path,
        "has braces {{…}} around something that is not a placeholder. Use {{env.NAME}} or {{secret.NAME}}.",
      );
      return whole;
    }
    if (kind === "secret") {
      const problem = slotProblem(name, slots);
      if (problem !== null) findings.problem(path, `{{secret.${name}}} ${problem}`);
      return `{{secret.${name}}}`;
    }
    findings.variables.add(name);
    const reading = readSecret(environment, name);
    const filled = "text" in reading ? reading.text : "";
    if ("problem" in reading) findings.problem(path, `{{env.${name}}}: ${name} ${reading.problem}`);
    else if (filled === "")
      findings.problem(path, `{{env.${name}}}: the environment variable ${name} is not set.`);
    return filled === "" ? whole : filled;
  });
}

/** Returns header fields with the variables filled in. */
export function fillHeaders(
  headers: Readonly<Record<string, string>> | undefined,
  path: readonly PropertyKey[],
  filling: Filling,
): Readonly<Record<string, string>> {
  const filled = Object.entries(headers ?? {}).map(([name, value]) => {
    const location = [...path, name];
    const whole = fillPlaceholders(value, location, filling);
    // The schema validated the text of the file, but the value of a variable may contain anything.
    if (isHeaderValue(value) && !isHeaderValue(whole)) {
      filling.findings.problem(location, `after filling in the placeholders, ${HEADER_VALUE_RULE}.`);
    }
    return [name, whole] as const;
  });
  return Object.freeze(Object.fromEntries(filled));
}

/** Reports placeholders in a setting that does not support them: they would be sent literally. */
export function refusePlaceholders(value: string, path: readonly PropertyKey[], findings: Findings): void {
  if (value.search(PLACEHOLDER) < 0 && !MALFORMED.test(value)) return;
  findings.problem(path, "has a placeholder, but placeholders work only in headers, env and rpcURL.");
}

function slotProblem(name: string, slots: Filling["slots"]): string | null {
  if (slots === "any") return null;
  if (slots === null) return "works only in the headers of an App's mcp and openapi servers.";
  if (slots.includes(name)) return null;
  return `is not a slot in this App's "secrets".${suggestion(name, slots)}`;
}
