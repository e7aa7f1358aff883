// Turns zod issues into sentences. They quote only values that cannot be secret.

import { z } from "zod";
import { isPlainObject } from "../core/json.ts";
import { suggestion } from "./nearest-name.ts";
import { formatPath, type ConfigProblem } from "./problem.ts";

type Issue = z.core.$ZodIssue;

/** Reports `__proto__` keys, which zod records silently skip. */
export function findPrototypeKeys(
  source: string,
  schema: z.ZodType,
  content: unknown,
  path: readonly PropertyKey[] = [],
): ConfigProblem[] {
  if (typeof content !== "object" || content === null) return [];
  const isRecord = schemaAt(schema, path) instanceof z.ZodRecord;
  return Object.entries(content).flatMap(([key, value]) => {
    const location = [...path, Array.isArray(content) ? Number(key) : key];
    if (key !== "__proto__") return findPrototypeKeys(source, schema, value, location);
    return isRecord ? [{ source, location: formatPath(location), message: "is not allowed as a name." }] : [];
  });
}

/** Returns one problem for each setting and each unknown key. */
export function describeIssues(source: string, schema: z.ZodType, issues: readonly Issue[]): ConfigProblem[] {
  return issues
    .filter((issue, index) => !issues.slice(index + 1).some((later) => isNarrower(later, issue)))
    .flatMap((issue) => describeIssue(source, schema, issue));
}

/** `z.int()` has bounds of its own, which zod reports before those of the setting. */
function isNarrower(later: Issue, issue: Issue): boolean {
  const isBound = issue.code === "too_big" || issue.code === "too_small";
  return isBound && later.code === issue.code && formatPath(later.path) === formatPath(issue.path);
}

function describeIssue(source: string, schema: z.ZodType, issue: Issue): ConfigProblem[] {
  if (issue.code === "unrecognized_keys") {
    const known = keysAt(schema, issue.path, issue.input);
    return issue.keys.map((key) => ({
      source,
      location: formatPath([...issue.path, key]),
      message: `is not a known setting.${suggestion(key, known)}`,
    }));
  }
  if (issue.code !== "invalid_union")
    return [{ source, location: formatPath(issue.path), message: sentence(issue) }];
  const branch = chosenBranch(issue);
  if (typeof branch === "string") return [{ source, location: formatPath(issue.path), message: branch }];
  const inner = optionAt(schema, issue.path, branch.index);
  return describeIssues("", inner, branch.issues).map(({ location, message }) => ({
    source,
    location: joinLocations(formatPath(issue.path), location),
    message,
  }));
}

/**
 * Returns the most likely intended branch of a union: the one with the fewest mistakes. Returns a sentence if no branch
 * is more likely than another.
 */
function chosenBranch(
  issue: Extract<Issue, { code: "invalid_union" }>,
): { readonly index: number; readonly issues: readonly Issue[] } | string {
  const branches = issue.errors.map((issues, index) => ({ index, issues }));
  const fitting = branches.filter(({ issues }) => !issues.some(isOfWrongKind));
  const [best, second] = fitting.toSorted((left, right) => mistakes(left.issues) - mistakes(right.issues));
  if (best === undefined) {
    const kinds = branches.flatMap(({ issues }) =>
      issues.flatMap((inner) => (inner.code === "invalid_type" ? withArticle(inner.expected) : [])),
    );
    return `must be ${[...new Set(kinds)].join(" or ")}, not ${typeName(issue.input)}.`;
  }
  const isEmpty = Object.keys(Object(issue.input)).length === 0;
  if (!isEmpty || second === undefined) return best;
  return `needs ${fitting.map(({ issues }) => `"${String(issues[0]?.path[0])}"`).join(" or ")}.`;
}

/** Returns true if the value has the wrong type for the whole branch, such as text for an object. */
function isOfWrongKind(issue: Issue): boolean {
  return issue.path.length === 0 && issue.code === "invalid_type";
}

function mistakes(issues: readonly Issue[]): number {
  return issues.reduce(
    (total, issue) => total + (issue.code === "unrecognized_keys" ? issue.keys.length : 1),
    0,
  );
}

function joinLocations(outer: string, inner: string): string {
  return inner === "" || inner.startsWith("[") ? `${outer}${inner}` : `${outer}.${inner}`;
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
  boolean: "true or false",
};

function withArticle(expected: string): string {
  return ARTICLES[expected] ?? `a value of type ${expected}`;
}

function typeName(value: unknown): string {
  if (value === undefined) return "absent";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number" && !Number.isInteger(value)) return String(value);
  if (typeof value === "object" && !isPlainObject(value)) return classOf(value);
  return typeof value === "boolean" ? "a boolean" : (ARTICLES[typeof value] ?? `a ${typeof value}`);
}

function classOf(value: object): string {
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "an instance of a class";
}

/** Returns the keys that the schema knows at a path; for a union, those of the branch that fits `input` best. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[], input: unknown): readonly string[] {
  const here = schemaAt(schema, path);
  const given = Object.keys(Object(input));
  const forms = optionsOf(here).map((form) => (form instanceof z.ZodObject ? Object.keys(form.shape) : []));
  const shared = (keys: readonly string[]): number => keys.filter((key) => given.includes(key)).length;
  return forms.toSorted((left, right) => shared(right) - shared(left))[0] ?? [];
}

function optionsOf(schema: unknown): readonly unknown[] {
  return schema instanceof z.ZodUnion ? schema.options : [schema];
}

function optionAt(schema: z.ZodType, path: readonly PropertyKey[], index: number): z.ZodType {
  const option = optionsOf(schemaAt(schema, path))[index];
  return option instanceof z.ZodType ? option : schema;
}

function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): unknown {
  let here: unknown = schema;
  for (const key of path) {
    here = optionsOf(withoutDefault(here))
      .map((form) => partAt(form, key))
      .find((part) => part !== undefined);
  }
  return withoutDefault(here);
}

function partAt(schema: unknown, key: PropertyKey): unknown {
  if (schema instanceof z.ZodObject) return (schema.shape as Record<PropertyKey, unknown>)[key];
  if (schema instanceof z.ZodRecord) return schema.valueType;
  return schema instanceof z.ZodArray ? schema.element : undefined;
}

function withoutDefault(schema: unknown): unknown {
  const isWrapped =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault;
  return isWrapped ? withoutDefault(schema.unwrap()) : schema;
}
