// Turns zod issues into sentences. They quote only values that cannot be secret.

import { z } from "zod";
import { isJsonObject, isPlainObject } from "../core/json.ts";
import { nearestName, suggestion } from "../core/nearest-name.ts";
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

/**
 * Returns one problem for each setting and each unknown key. `written` is the content before placeholders
 * were filled in: what a placeholder was filled with is never quoted.
 */
export function describeIssues(
  source: string,
  schema: z.ZodType,
  issues: readonly Issue[],
  written: unknown,
): ConfigProblem[] {
  return issues
    .filter((issue, index) => !issues.slice(index + 1).some((later) => isNarrower(later, issue)))
    .flatMap((issue) => describeIssue(source, schema, issue, valueAt(written, issue.path)));
}

/** Follows an unknown setting of an App. */
const OF_PLUGIN = ' The section of a plugin needs the plugin in "plugins".';

function valueAt(content: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value, key) => Object(value)[key] as unknown, content);
}

/** `z.int()` has bounds of its own, which zod reports before those of the setting. */
function isNarrower(later: Issue, issue: Issue): boolean {
  const isBound = issue.code === "too_big" || issue.code === "too_small";
  return isBound && later.code === issue.code && formatPath(later.path) === formatPath(issue.path);
}

function describeIssue(source: string, schema: z.ZodType, issue: Issue, written: unknown): ConfigProblem[] {
  if (issue.code === "unrecognized_keys") {
    const known = keysAt(schema, issue.path, issue.input);
    const ofApps = issue.path.length === 0 ? keysAt(schema, ["apps", "default"], {}) : [];
    const isApp = issue.path.length === 2 && issue.path[0] === "apps";
    return issue.keys.map((key) => ({
      source,
      location: formatPath([...issue.path, key]),
      message: ofApps.includes(key)
        ? `is a setting of an App. Write it as "apps.default.${key}", or in another App.`
        : `is not a known setting.${suggestion(key, known)}${isApp && nearestName(key, known) === null ? OF_PLUGIN : ""}`,
    }));
  }
  if (issue.code !== "invalid_union")
    return [{ source, location: formatPath(issue.path), message: sentence(issue, written) }];
  const branch = chosenBranch(issue);
  if (typeof branch === "string") return [{ source, location: formatPath(issue.path), message: branch }];
  const inner = optionAt(schema, issue.path, branch.index);
  // A missing or unknown kind is one of all branches.
  const values = issue.errors.flat().flatMap((each) => (isAboutKind(each) ? each.values : []));
  const issues = branch.issues.map((each) => (isAboutKind(each) ? { ...each, values } : each));
  return describeIssues("", inner, issues, written).map(({ location, message }) => ({
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
  const possible = branches.filter(
    ({ issues }) => !issues.some((inner) => isOfWrongKind(inner, issue.input)),
  );
  const named = possible.filter(({ issues }) => !issues.some(isAboutKind));
  const fitting = named.length > 0 ? named : possible;
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

/**
 * Returns true if the value has the wrong type for the whole branch: for example, a string for an object, or
 * an object for a branch with its own check.
 */
function isOfWrongKind({ path, code }: Issue, input: unknown): boolean {
  const isWhole = path.length === 0;
  return isWhole && (code === "invalid_type" || (code === "custom" && isJsonObject(input)));
}

/** Returns true if the setting `kind` names another branch. */
function isAboutKind(issue: Issue): issue is z.core.$ZodIssueInvalidValue {
  return issue.code === "invalid_value" && issue.path.length === 1 && issue.path[0] === "kind";
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

function sentence(issue: Issue, written: unknown): string {
  if (typeof written !== "string" || !written.includes("{{")) return describe(issue);
  const message = issue.code === "invalid_value" ? "it has a value that is not allowed." : describe(issue);
  return `${AFTER_FILLING}${message}`;
}

/** Begins a problem of a setting with a placeholder. */
export const AFTER_FILLING = "after filling in the placeholders, ";

function describe(issue: Issue): string {
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
