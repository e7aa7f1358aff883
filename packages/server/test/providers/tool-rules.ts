// Tool rules of each provider family, from API references, client types and error messages. Each function returns the
// violated rules of a request body.

import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

type Body = Readonly<Record<string, unknown>>;
type Schema = Readonly<Record<string, unknown>>;

interface SentTool {
  readonly name: unknown;
  readonly description: unknown;
  readonly schema: unknown;
}

const MAX_TOOLS = 128;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const IDENTIFIER = /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/;
const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Calls `check` for a schema and all its subschemas. */
function walk(schema: unknown, check: (schema: unknown, level: number) => void, level = 0): void {
  check(schema, level);
  if (!isObject(schema)) return;
  for (const key of ["properties", "$defs"])
    if (isObject(schema[key]))
      for (const inner of Object.values(schema[key])) walk(inner, check, level + (key === "$defs" ? 0 : 1));
  for (const key of ["items", "additionalProperties"])
    if (isObject(schema[key])) walk(schema[key], check, level + 1);
  for (const key of ["anyOf", "oneOf", "allOf"])
    for (const branch of listOf(schema[key])) walk(branch, check, level + 1);
}

/** Rules for names, descriptions and schema roots that all families share. */
function commonProblems(tools: readonly SentTool[]): string[] {
  const problems: string[] = [];
  if (tools.length > MAX_TOOLS) problems.push(`there are ${tools.length} tools`);
  const names = tools.map(({ name }) => name);
  for (const name of names) {
    if (typeof name !== "string" || !NAME.test(name)) problems.push(`the name ${show(name)} is rejected`);
    if (names.filter((other) => other === name).length > 1)
      problems.push(`the name ${show(name)} occurs twice`);
  }
  for (const { description, schema } of tools) {
    if (description !== undefined && typeof description !== "string")
      problems.push("a description is not a string");
    if (!isObject(schema) || schema["type"] !== "object") {
      problems.push("the input is not an object");
      continue;
    }
    for (const key of ["oneOf", "anyOf", "allOf", "enum", "not"])
      if (key in schema) problems.push(`the top has ${key}`);
    if (JSON.stringify(schema).length > 100_000) problems.push("a schema is too large");
    walk(schema, (inner) => problems.push(...shapeProblems(inner, schema)));
  }
  return problems;
}

function shapeProblems(schema: unknown, root: Schema): string[] {
  if (!isObject(schema)) return ["a schema is not an object"];
  const problems: string[] = [];
  const { properties = {}, required = [], description, enum: values, $ref: reference } = schema;
  if (description !== undefined && typeof description !== "string")
    problems.push("a description is not a string");
  if (typeof description === "string" && description.length > 1_024)
    problems.push("a description is too long");
  if (!isObject(properties)) problems.push("properties is not an object");
  const names = isObject(properties) ? Object.keys(properties) : [];
  for (const text of [...names, description, schema["title"]])
    if (/[^\P{Cc}\n\t]|\p{Cs}/u.test(show(text))) problems.push("there are control characters");
  if (!Array.isArray(required)) problems.push("required is not an array");
  for (const name of listOf(required))
    if (!names.includes(show(name))) problems.push(`the required property ${show(name)} is not defined`);
  if (new Set(listOf(required)).size < listOf(required).length) problems.push("required repeats a name");
  if (values !== undefined && listOf(values).length === 0) problems.push("an enum is empty");
  if (listOf(values).length > 1_000) problems.push("an enum is too large");
  for (const type of [schema["type"] ?? "object"].flat())
    if (!TYPES.includes(show(type))) problems.push(`the type ${show(type)} is unknown`);
  if (isType(schema, "array") && !isObject(schema["items"])) problems.push("array schema missing items");
  if (isType(schema, "object") && !isObject(schema["properties"]))
    problems.push("object schema missing properties");
  if (reference !== undefined) {
    const name = /^#\/\$defs\/([a-zA-Z0-9_]+)$/.exec(show(reference))?.[1] ?? "";
    if (!isObject(root["$defs"]) || !Object.hasOwn(root["$defs"], name))
      problems.push(`${show(reference)} is not defined`);
  }
  for (const key of [
    "$schema",
    "$id",
    "definitions",
    "nullable",
    "if",
    "then",
    "else",
    "not",
    "dependentRequired",
  ])
    if (key in schema) problems.push(`the keyword ${key} is rejected`);
  return problems;
}

function isType({ type }: Schema, wanted: string): boolean {
  return [type].flat().includes(wanted);
}

/** Responses API with non-strict schemas, so that optional parameters stay optional. */
export function openaiToolProblems({ tools = [] }: Body): string[] {
  const sent = listOf(tools).filter(isObject);
  const problems = commonProblems(
    sent.map(({ name, description, parameters }) => ({ name, description, schema: parameters })),
  );
  for (const { strict, parameters } of sent) {
    if (strict !== false) problems.push("a tool is strict, so its optional parameters are required");
    let names = 0;
    walk(parameters, (schema, level) => {
      if (level > 24) problems.push("a schema is nested too deep");
      if (!isObject(schema)) return;
      names += Object.keys(isObject(schema["properties"]) ? schema["properties"] : {}).length;
      const { pattern, format } = schema;
      if (typeof pattern === "string" && /\(\?[=!<]/.test(pattern))
        problems.push("a pattern uses lookaround");
      if (
        format !== undefined &&
        !/^(date-time|date|time|duration|email|hostname|ipv4|ipv6|uuid)$/.test(show(format))
      )
        problems.push(`the format ${show(format)} is unknown`);
    });
    if (names > 5_000) problems.push("there are too many properties");
  }
  return problems;
}

/** Validates schemas against the draft that the API requires, including formats. */
const draft = new Ajv2020({ strict: false });
addFormats.default(draft);

/** Messages API. */
export function anthropicToolProblems({ tools = [] }: Body): string[] {
  const sent = listOf(tools).filter(isObject);
  const problems = commonProblems(
    sent
      .slice(0, MAX_TOOLS)
      .map(({ name, description, input_schema: schema }) => ({ name, description, schema })),
  );
  for (const { input_schema: schema } of sent) {
    const { $schema: _, ...rest } = isObject(schema) ? schema : {};
    if (!isObject(schema) || !draft.validateSchema(rest)) problems.push("JSON schema is invalid");
    walk(schema, (inner) => {
      for (const name of Object.keys(
        isObject(inner) && isObject(inner["properties"]) ? inner["properties"] : {},
      ))
        if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
          problems.push(`Property keys should match pattern: ${name}`);
      const pattern = isObject(inner) ? inner["pattern"] : undefined;
      // The server compiles patterns with Python.
      if (typeof pattern === "string" && /\\[pPuk]|\(\?</.test(pattern))
        problems.push("a pattern is not portable");
    });
  }
  return problems;
}

const GOOGLE_KEYWORDS = new Set(
  "type format title description enum items minItems maxItems minimum maximum anyOf properties required".split(
    " ",
  ),
);

/** `generateContent`: the intersection of `Schema` and `parametersJsonSchema`. */
export function googleToolProblems({ tools = [] }: Body): string[] {
  const sent = listOf(tools)
    .filter(isObject)
    .flatMap(({ functionDeclarations }) => listOf(functionDeclarations).filter(isObject));
  const problems = commonProblems(
    sent.map(({ name, description, parameters, parametersJsonSchema: schema = parameters }) => ({
      name,
      description,
      schema,
    })),
  );
  for (const { name, parametersJsonSchema: root } of sent) {
    if (!/^[a-zA-Z_]/.test(show(name))) problems.push(`the name ${show(name)} is rejected`);
    walk(root, (schema, level) => {
      if (!isObject(schema)) return;
      if (level > 24) problems.push("a schema is nested too deep");
      for (const key of Object.keys(schema))
        if (!GOOGLE_KEYWORDS.has(key)) problems.push(`Unknown name "${key}"`);
      if ("anyOf" in schema && Object.keys(schema).length > 1) problems.push("any_of is not the only field");
      if (!("anyOf" in schema) && schema["type"] === undefined) problems.push("a type is missing");
      const { type, format, enum: values, properties = {} } = schema;
      const types = [type].flat().filter((one) => one !== "null");
      if (types.length > 1) problems.push("there are several types");
      if (format !== undefined && format !== "date-time")
        problems.push(`the format ${show(format)} is unknown`);
      if (values !== undefined && !isType(schema, "string"))
        problems.push("enum: only allowed for STRING type");
      for (const value of listOf(values))
        if (typeof value !== "string" || value === "") problems.push(`enum: ${show(value)} is rejected`);
      const names = Object.keys(isObject(properties) ? properties : {});
      for (const key of ["properties", "required"])
        if (key in schema && !isType(schema, "object")) problems.push(`${key}: only allowed for OBJECT type`);
      if (isType(schema, "object") && names.length === 0 && level > 0)
        problems.push("properties: should be non-empty for OBJECT type");
      for (const key of names)
        if (!IDENTIFIER.test(key)) problems.push(`the parameter name ${key} is rejected`);
    });
  }
  return problems;
}

const COMPATIBLE_KEYWORDS = new Set(
  "type description enum items properties required additionalProperties".split(" "),
);

/**
 * Chat Completions with the rules of the strictest servers: Ollama's types, chat templates that expect one `type`, and
 * the grammars of llama.cpp.
 */
export function compatibleToolProblems({ tools = [] }: Body): string[] {
  const sent = listOf(tools)
    .filter(isObject)
    .map(({ function: called }) => (isObject(called) ? called : {}));
  const problems = commonProblems(
    sent.map(({ name, description, parameters }) => ({ name, description, schema: parameters })),
  );
  for (const { name, description, parameters, strict } of sent) {
    if (!/^[a-zA-Z_]/.test(show(name))) problems.push(`the name ${show(name)} is rejected`);
    if (strict !== undefined) problems.push("strict is unknown");
    if (show(description).length > 1_024) problems.push("a description is too long");
    walk(parameters, (schema, level) => {
      if (!isObject(schema)) return;
      if (level > 24) problems.push("a schema is nested too deep");
      for (const key of Object.keys(schema))
        if (!COMPATIBLE_KEYWORDS.has(key)) problems.push(`the keyword ${key}`);
      if (typeof schema["type"] !== "string") problems.push("a type is not a string");
      for (const value of listOf(schema["enum"]))
        if (typeof value !== "string" || value === "") problems.push(`enum: ${show(value)} is rejected`);
      const { properties = {} } = schema;
      for (const key of Object.keys(isObject(properties) ? properties : {}))
        if (!IDENTIFIER.test(key)) problems.push(`the parameter name ${key} is rejected`);
    });
  }
  return problems;
}
