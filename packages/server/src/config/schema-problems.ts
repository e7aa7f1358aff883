// What the schema finds wrong, in sentences. Values are named only where they cannot be secret.

import { z } from "zod";
import { suggestion } from "./nearest-name.ts";
import { formatPath, type ConfigProblem } from "./problem.ts";

type Issue = z.core.$ZodIssue;

/** One problem for each place, unknown keys one by one. */
export function describeIssues(source: string, schema: z.ZodType, issues: readonly Issue[]): ConfigProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") {
      return [{ source, place: formatPath(issue.path), message: sentence(issue) }];
    }
    const known = keysAt(schema, issue.path);
    return issue.keys.map((key) => ({
      source,
      place: formatPath([...issue.path, key]),
      message: `is not a known setting.${suggestion(key, known)}`,
    }));
  });
}

function sentence(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${withArticle(issue.expected)}, not ${typeName(issue.input)}.`;
    case "invalid_value":
      return describeChoice(issue.values.map(String), issue.input);
    case "too_small":
      return sizeSentence(issue.origin, "at least", Number(issue.minimum));
    case "too_big":
      return sizeSentence(issue.origin, "at most", Number(issue.maximum));
    case "invalid_key":
      return `${issue.issues[0]?.message ?? "is not allowed as a name"}.`;
    default:
      return `${issue.message}.`;
  }
}

function describeChoice(choices: readonly string[], input: unknown): string {
  const quoted = choices.map((choice) => `"${choice}"`);
  const last = quoted.pop() ?? "";
  const list = quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
  if (typeof input !== "string") return `must be ${list}, not ${typeName(input)}.`;
  return `must be ${list}, not "${input.slice(0, 80)}".`;
}

function sizeSentence(origin: string, bound: string, size: number): string {
  switch (origin) {
    case "string":
      return `must have ${bound} ${size} characters.`;
    case "array":
      return `must have ${bound} ${size} ${size === 1 ? "entry" : "entries"}.`;
    default:
      return `must be ${bound} ${size}.`;
  }
}

const ARTICLES: Readonly<Record<string, string>> = {
  string: "text",
  int: "a whole number",
  number: "a number",
  array: "a list",
  object: "an object",
  record: "an object",
};

function withArticle(expected: string): string {
  return ARTICLES[expected] ?? `a value of type ${expected}`;
}

function typeName(value: unknown): string {
  if (value === undefined) return "absent";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number" && !Number.isInteger(value)) return String(value);
  return ARTICLES[typeof value] ?? `a ${typeof value}`;
}

/** The keys that the schema knows at a place. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let here: unknown = schema;
  for (const key of path) {
    here = withoutOptional(here);
    if (here instanceof z.ZodObject) here = (here.shape as Record<PropertyKey, unknown>)[key];
    else if (here instanceof z.ZodRecord) here = here.valueType;
    else if (here instanceof z.ZodArray) here = here.element;
  }
  here = withoutOptional(here);
  return here instanceof z.ZodObject ? Object.keys(here.shape) : [];
}

function withoutOptional(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? withoutOptional(schema.unwrap()) : schema;
}
