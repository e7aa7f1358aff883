// `{{env.NAME}}` is filled when the file is read, `{{secret.NAME}}` stays for the call of a tool, where the user's value is filled in.
// What a placeholder comes to is never part of a problem.

import type { Environment } from "./environment.ts";
import type { Findings } from "./findings.ts";
import { suggestion } from "./nearest-name.ts";
import { HEADER_VALUE_RULE, isHeaderValue } from "./schema-parts.ts";

/** One that somebody meant: what is left of the braces around it is not two on each side. */
const MALFORMED = /\{\s*(?:env|secret)\s*\.|(?:env|secret)\s*\.\s*\w+\s*\}/;
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

export interface Filling {
  readonly environment: Environment;
  readonly findings: Findings;
  /** Slots that `{{secret.NAME}}` may name; `null` where none may stand, `"any"` where the slots themselves are wrong. */
  readonly slots: readonly string[] | "any" | null;
}

/** `value` with the variables filled in; what is wrong with a placeholder is a problem at `path`, and it stays as it is. */
export function fillPlaceholders(value: string, path: readonly PropertyKey[], filling: Filling): string {
  const { environment, findings, slots } = filling;
  // What a variable is filled with may hold anything; here it is the file's own text.
  if (MALFORMED.test(value.replaceAll(PLACEHOLDER, "")))
    findings.problem(
      path,
      "has a placeholder with braces that do not match. Write {{env.NAME}} or {{secret.NAME}}.",
    );
  return value.replaceAll(PLACEHOLDER, (whole, inner: string) => {
    const [, kind, name = ""] = /^\s*(env|secret)\.([a-zA-Z_][a-zA-Z0-9_]*)\s*$/.exec(inner) ?? [];
    if (kind === undefined) {
      // Not what stands between the braces: somebody may have put the key itself there.
      findings.problem(
        path,
        "has braces {{…}} around something else than a placeholder. There are {{env.NAME}} and {{secret.NAME}}.",
      );
      return whole;
    }
    if (kind === "secret") {
      const wrong = wrongSlot(name, slots);
      if (wrong !== null) findings.problem(path, `{{secret.${name}}} ${wrong}`);
      return `{{secret.${name}}}`;
    }
    findings.variables.add(name);
    const filled = (Object.hasOwn(environment, name) ? environment[name] : undefined)?.trim() ?? "";
    if (filled === "")
      findings.problem(path, `{{env.${name}}}: the environment variable ${name} is not set.`);
    return filled === "" ? whole : filled;
  });
}

/** Header fields with the variables filled in. */
export function fillHeaders(
  headers: Readonly<Record<string, string>> | undefined,
  path: readonly PropertyKey[],
  filling: Filling,
): Readonly<Record<string, string>> {
  const filled = Object.entries(headers ?? {}).map(([name, value]) => {
    const place = [...path, name];
    const whole = fillPlaceholders(value, place, filling);
    // The file's own text was checked by the schema; a variable may hold anything.
    if (isHeaderValue(value) && !isHeaderValue(whole)) {
      filling.findings.problem(place, `with its placeholders filled in ${HEADER_VALUE_RULE}.`);
    }
    return [name, whole] as const;
  });
  return Object.freeze(Object.fromEntries(filled));
}

/** Placeholders in a text where none are filled are a problem: they would be sent as they stand. */
export function refusePlaceholders(value: string, path: readonly PropertyKey[], findings: Findings): void {
  if (value.search(PLACEHOLDER) < 0 && !MALFORMED.test(value)) return;
  findings.problem(path, "has a placeholder. They are filled in headers, env and rpcURL alone.");
}

function wrongSlot(name: string, slots: Filling["slots"]): string | null {
  if (slots === "any") return null;
  if (slots === null) return "may stand in the headers of an App's mcp and openapi servers alone.";
  if (slots.includes(name)) return null;
  return `is no slot of this App's "secrets".${suggestion(name, slots)}`;
}
