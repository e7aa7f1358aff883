// Rewrites tool input schemas for a provider, and maps the arguments of tool calls back to the original schema.
// Providers reject a whole request for one unsupported schema, so a single tool could fail every message of its App.
// Only unsupported parts change. A rewritten schema may accept more than the original, which validates the calls.

import { createHash } from "node:crypto";
import {
  cleanJson,
  cleanText,
  decodePercent,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../core/json.ts";
import type { SchemaDialect } from "../core/ports/driven/model.ts";

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"] as const;
type Type = (typeof TYPES)[number];

/** JSON Schema features that a provider accepts in a tool's input schema. */
interface Dialect {
  /** Property names that the provider accepts; others are mapped. */
  readonly names: RegExp;
  /**
   * `list`: type lists and unions anywhere; `nullable`: one type and `null`, or a union without other keywords;
   * `single`: exactly one type, no unions.
   */
  readonly types: "list" | "nullable" | "single";
  /** True if enum values must be strings. */
  readonly enumsAreText: boolean;
  /** True if the provider accepts recursive schemas with `$defs`. */
  readonly recursive: boolean;
  /** True if objects without declared properties become strings of JSON: models would leave the objects empty. */
  readonly objectsAreText: boolean;
  readonly keywords: ReadonlySet<string>;
  readonly formats: ReadonlySet<string>;
  readonly maxLevels: number;
  /** Maximum characters of a tool's description. */
  readonly maxDescription: number;
}

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

const ALL_KEYWORDS = setOf(
  "title default examples pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems uniqueItems minProperties maxProperties additionalProperties",
);
const FORMATS = setOf(
  "date-time date time duration email hostname ipv4 ipv6 uuid uri uri-reference iri iri-reference idn-email idn-hostname uri-template json-pointer relative-json-pointer regex",
);
const NO_KEYWORDS: ReadonlySet<string> = new Set();
/** Google requires identifiers; chat templates and grammars of local models may require them too. */
const IDENTIFIER = /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/;
const COMMON = { enumsAreText: false, objectsAreText: false, keywords: ALL_KEYWORDS, maxDescription: 4_000 };

const DIALECTS: Readonly<Record<SchemaDialect, Dialect>> = {
  // Formats and levels are documented under "Structured outputs"; the other rules come from error messages.
  openai: {
    ...COMMON,
    names: /^(?=.*\S)[^\p{C}]{1,128}$/u,
    types: "list",
    recursive: true,
    formats: setOf("date-time date time duration email hostname ipv4 ipv6 uuid"),
    maxLevels: 10,
  },
  // JSON Schema 2020-12 without a top-level union.
  anthropic: {
    ...COMMON,
    names: /^[a-zA-Z0-9_.-]{1,64}$/,
    types: "list",
    recursive: true,
    formats: FORMATS,
    maxLevels: 32,
  },
  // The intersection of `Schema` and `parametersJsonSchema` in the API reference.
  google: {
    ...COMMON,
    names: IDENTIFIER,
    types: "nullable",
    enumsAreText: true,
    recursive: false,
    objectsAreText: true,
    keywords: setOf("title minimum maximum minItems maxItems"),
    formats: setOf("date-time"),
    maxLevels: 10,
  },
  // The intersection of Ollama's types, chat templates that expect one `type`, and the grammars of llama.cpp and vLLM.
  strictest: {
    names: IDENTIFIER,
    types: "single",
    enumsAreText: true,
    recursive: false,
    objectsAreText: false,
    keywords: NO_KEYWORDS,
    formats: NO_KEYWORDS,
    maxLevels: 10,
    maxDescription: 1_024,
  },
};

const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"] as const;
/** Property names that the SDK rejects in arguments to prevent prototype pollution. */
const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);
const MAX_NODES = 1_000;
const MAX_CHARACTERS = 64 * 1_024;
/** OpenAI's documented limits: values and characters of one enum, and values of all enums of a tool. */
const MAX_ENUM = 250;
const MAX_ENUM_CHARACTERS = 15_000;
const MAX_ENUMS = 1_000;
const MAX_TEXT = 1_000;
const MAX_HINT = 100;
/** Maximum depth of arguments that are restored; deeper arguments are rejected before the tool runs. */
const MAX_VALUE_LEVELS = 64;
const MAX_REFERENCES = 16;
/** Maximum subschemas considered together for one schema, including nested branches. */
const MAX_PARTS = 64;
/** Maximum schemas flattened for one tool. Later `allOf`s are ignored, because nested ones grow exponentially. */
const MAX_FLATTENED = 20_000;
/** Maximum work for one tool: characters of written or compared schemas, plus copied keys. */
const MAX_WORK = 3_000_000;

/**
 * Returns the schema in a form that the provider accepts.
 *
 * @throws TypeError if the schema does not describe an object, which every provider requires, or if it is too large
 * once its references are expanded.
 */
export function repairSchema(schema: JsonValue, dialect: SchemaDialect, work = new Work()): JsonObject {
  const rules = DIALECTS[dialect];
  for (let levels = rules.maxLevels; ; levels = Math.floor(levels / 2)) {
    const repaired = new SchemaRepair(schema, rules, { levels, work }).root();
    if (levels <= 1 || JSON.stringify(repaired).length <= MAX_CHARACTERS) return repaired;
  }
}

/** Returns the tool description, truncated to the provider's limit. */
export function repairDescription(description: unknown, dialect: SchemaDialect): string {
  return cut(textOf(description), DIALECTS[dialect].maxDescription);
}

/**
 * Maps a model's arguments back to the original schema: restores property names, removes `null` from optional
 * properties that do not allow it, and parses strings of JSON that the rewritten schema required. Arguments that cannot
 * be mapped stay unchanged, so that validation against the original schema reports them.
 */
export function restoreArguments(input: JsonValue, schema: JsonValue, dialect: SchemaDialect): JsonValue {
  return createRestorer(schema, dialect)(input);
}

/** Returns `restoreArguments` for one tool, with the work on its schema shared between calls. */
export function createRestorer(schema: JsonValue, dialect: SchemaDialect): (input: JsonValue) => JsonValue {
  const restorer = new ArgumentRestorer(schema, DIALECTS[dialect]);
  return (input) => {
    // Parsed strings may contain characters that stored JSON must not contain.
    return cleanJson(restorer.restore(argumentsOf(input)));
  };
}

/** Returns an object for missing, blank or doubly encoded arguments; other values unchanged. */
export function argumentsOf(input: JsonValue): JsonValue {
  if (input === null) return {};
  if (typeof input !== "string") return input;
  if (input.trim() === "") return {};
  const parsed = parseContainer(input);
  return isJsonObject(parsed) ? parsed : input;
}

class TooMuchWork extends TypeError {
  constructor() {
    super("The input schema is too large once its references and `allOf` are expanded.");
    this.name = "TooMuchWork";
  }
}

/** Limits the work for one schema. It runs on the main thread, and a hostile schema could block it indefinitely. */
export class Work {
  readonly #most: number;
  readonly #sizes = new WeakMap<object, number>();
  #spent = 0;

  constructor(most = MAX_WORK) {
    this.#most = Math.min(most, MAX_WORK);
  }

  get spent(): number {
    return this.#spent;
  }

  /** @throws TooMuchWork */
  spend(work: number): void {
    this.#spent += work;
    if (this.#spent > this.#most) throw new TooMuchWork();
  }

  /** Estimates the length of the value as JSON. Caches the size of each object. */
  sizeOf(value: JsonValue | undefined): number {
    if (typeof value === "string") return value.length + 1;
    if (typeof value !== "object" || value === null) return 1;
    const cached = this.#sizes.get(value);
    if (cached !== undefined) return cached;
    let size = 2;
    for (const [key, inner] of Object.entries(value)) size += key.length + this.sizeOf(inner);
    this.#sizes.set(value, size);
    return size;
  }
}

/** Resolves references of one schema. */
class SchemaReader {
  readonly #root: JsonValue;
  readonly #work: Work;
  readonly #anchors: ReadonlyMap<string, JsonValue>;
  #flattened = 0;

  constructor(root: JsonValue, work: Work) {
    this.#root = root;
    this.#work = work;
    this.#anchors = anchorsIn(root, new Map(), 0);
  }

  /** Returns the schema at the end of a chain of references, merged with their sibling keywords, and the references. */
  follow(schema: JsonValue | undefined): {
    readonly schema: JsonValue;
    readonly references: readonly string[];
  } {
    const references: string[] = [];
    let found: JsonValue = schema ?? true;
    while (isJsonObject(found)) {
      const reference = REFERENCES.map((key) => (found as JsonObject)[key]).find(
        (one) => typeof one === "string",
      );
      if (reference === undefined) break;
      const { $ref: _, $dynamicRef: _2, $recursiveRef: _3, ...beside } = found;
      const target = this.#target(reference);
      if (target === undefined || references.length === MAX_REFERENCES) return { schema: beside, references };
      if (references.includes(reference)) return { schema: beside, references };
      references.push(reference);
      this.#work.spend(reference.length + keysIn(target) + keysIn(beside));
      found = isJsonObject(target) ? { ...target, ...beside } : target;
    }
    return { schema: found, references };
  }

  #target(reference: string): JsonValue | undefined {
    if (!reference.startsWith("#")) return undefined;
    if (reference === "#") return this.#root;
    if (!reference.startsWith("#/")) return this.#anchors.get(reference.slice(1));
    let node: JsonValue | undefined = this.#root;
    for (const part of reference.slice(2).split("/")) {
      const name = decodePercent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof node !== "object" || node === null || !Object.hasOwn(node, name)) return undefined;
      node = (node as JsonObject)[name];
    }
    return node;
  }

  /** Resolves references and merges `allOf`. Returns `null` if no value can match the schema. */
  flatten(schema: JsonValue | undefined, level = 0): Flat | null {
    const { schema: found, references } = this.follow(schema);
    if (isNever(found)) return null;
    if (!isJsonObject(found)) return { schema: {}, references };
    const { allOf, ...own } = found;
    this.#work.spend(1 + keysIn(found));
    this.#flattened += 1;
    if (!Array.isArray(allOf) || level > MAX_REFERENCES || this.#flattened > MAX_FLATTENED)
      return { schema: own, references };
    let merged = own;
    const all = [...references];
    for (const part of allOf.slice(0, MAX_PARTS)) {
      const flat = this.flatten(part, level + 1);
      if (flat === null) continue;
      merged = this.merge(merged, flat.schema);
      all.push(...flat.references);
    }
    return { schema: merged, references: all };
  }

  /** Returns the satisfiable branches of a flat schema's unions. */
  branches({ schema, references }: Flat): readonly Flat[] {
    const written = [schema["anyOf"], schema["oneOf"]].flatMap((list) => (Array.isArray(list) ? list : []));
    return written.slice(0, MAX_PARTS).flatMap((branch) => {
      const flat = this.flatten(branch);
      if (flat === null) return [];
      // A branch that is the schema itself adds nothing.
      return flat.references.some((reference) => references.includes(reference)) ? [] : [flat];
    });
  }

  /** Returns the flattened schema and the subschemas that may also apply: branches of unions and conditions. */
  parts(schema: JsonValue | undefined): readonly JsonObject[] {
    const found: JsonObject[] = [];
    const seen = new Set<string>();
    const waiting: JsonValue[] = [schema ?? true];
    while (waiting.length > 0 && found.length < MAX_PARTS) {
      const flat = this.flatten(waiting.shift());
      if (flat === null) continue;
      const { schema: own, references } = flat;
      const isKnown = references.length > 0 && references.every((reference) => seen.has(reference));
      if (isKnown) continue;
      for (const reference of references) seen.add(reference);
      found.push(own);
      const before = waiting.length;
      for (const key of ["anyOf", "oneOf"]) if (Array.isArray(own[key])) waiting.push(...own[key]);
      for (const key of ["then", "else"]) if (isJsonObject(own[key])) waiting.push(own[key]);
      if (isJsonObject(own["dependentSchemas"])) waiting.push(...Object.values(own["dependentSchemas"]));
      this.#work.spend(waiting.length - before);
    }
    return found;
  }

  /** Merges two schemas of an `allOf`. If they contradict each other, the result may accept more than either. */
  merge(left: JsonObject, right: JsonObject): JsonObject {
    this.#work.spend(keysIn(left) + keysIn(right) + keysIn(left["required"]) + keysIn(right["required"]));
    const merged: JsonObject = { ...right, ...left };
    const types = [typesOf(left), typesOf(right)];
    const [first, second] = types;
    if (first && second) {
      const both = first.filter((type) =>
        second.some((other) => other === type || (other === "number" && type === "integer")),
      );
      merged["type"] = both.length > 0 ? both : [...first];
    } else if (first ?? second) merged["type"] = [...(first ?? second ?? [])];
    const required = [...new Set([...requiredIn(left), ...requiredIn(right)])];
    if (required.length > 0) merged["required"] = required;
    if (isJsonObject(left["properties"]) && isJsonObject(right["properties"])) {
      const entries = [...this.propertiesIn([left, right])].map(([name, schemas]): [string, JsonValue] => [
        name,
        schemas.length === 1 ? (schemas[0] ?? true) : { allOf: [...schemas] },
      ]);
      merged["properties"] = Object.fromEntries(entries);
    }
    return merged;
  }

  /** Returns the declared properties of several subschemas, each with its distinct schemas. */
  propertiesIn(parts: readonly JsonObject[]): ReadonlyMap<string, readonly JsonValue[]> {
    const merged = new Map<string, JsonValue[]>();
    for (const { properties } of parts) {
      if (!isJsonObject(properties)) continue;
      for (const [name, schema] of Object.entries(properties)) {
        const distinctSchemas = merged.get(name) ?? [];
        // Only objects and booleans are valid schemas.
        const read = isJsonObject(schema) || schema === false ? schema : true;
        this.#work.spend(name.length + 1);
        if (!distinctSchemas.some((other) => this.#areEqual(other, read))) distinctSchemas.push(read);
        merged.set(name, distinctSchemas);
      }
    }
    return merged;
  }

  #areEqual(left: JsonValue, right: JsonValue): boolean {
    if (left === right) return true;
    this.#work.spend(this.#work.sizeOf(left) + this.#work.sizeOf(right));
    return JSON.stringify(left) === JSON.stringify(right);
  }
}

/** A schema without references and `allOf`, and the resolved references. */
interface Flat {
  readonly schema: JsonObject;
  readonly references: readonly string[];
}

class SchemaRepair {
  readonly #root: JsonValue;
  readonly #rules: Dialect;
  readonly #maxLevels: number;
  readonly #work: Work;
  readonly #reader: SchemaReader;
  /** Definition names of recursive schemas, by reference. */
  readonly #definitions = new Map<string, string>();
  #nodes = 0;
  #enums = 0;

  constructor(root: JsonValue, rules: Dialect, { levels, work }: { levels: number; work: Work }) {
    this.#root = root;
    this.#rules = rules;
    this.#maxLevels = levels;
    this.#work = work;
    this.#reader = new SchemaReader(root, work);
  }

  root(): JsonObject {
    const flat = this.#reader.flatten(this.#root) ?? NOTHING;
    const objects = this.#asObject(flat);
    if (objects === null) {
      const type = JSON.stringify(flat.schema["type"] ?? flat.schema["enum"] ?? "other").slice(0, 100);
      throw new TypeError(`The input must be an object, and its schema has the type ${type}.`);
    }
    const result = this.#object(objects, 0, ["#", ...flat.references]);
    const definitions: JsonObject = {};
    // Writing a definition may add others, which this loop also visits.
    for (const [reference, name] of this.#definitions) {
      const others = ["#", ...this.#definitions.keys()].filter((other) => other !== reference);
      definitions[name] = this.#write({ $ref: reference }, 1, others);
    }
    return this.#definitions.size === 0 ? result : { ...result, $defs: definitions };
  }

  /** Writes a schema. `open` contains the references of the enclosing schemas. */
  #write(schema: JsonValue | undefined, level: number, open: readonly string[]): JsonObject {
    return this.#writeFlat(this.#reader.flatten(schema) ?? NOTHING, level, open);
  }

  #writeFlat(flat: Flat, level: number, open: readonly string[]): JsonObject {
    this.#nodes += 1;
    const { schema: own } = flat;
    this.#work.spend(this.#work.sizeOf(own));
    const again = flat.references.find((reference) => open.includes(reference));
    if (again !== undefined && this.#rules.recursive) return { $ref: `#/$defs/${this.#definitionOf(again)}` };
    if (again !== undefined || level > this.#maxLevels || this.#nodes > MAX_NODES)
      return this.#shortened(own);
    const inner = [...open, ...flat.references];
    const values = enumOf(own);
    if (values !== null) return this.#enum(own, values);
    const { branches, isNullable } = this.#alternatives(flat);
    const [only] = branches;
    if (only !== undefined && branches.length === 1) {
      const { anyOf: _, oneOf: _2, ...rest } = own;
      const merged = { schema: this.#reader.merge(rest, only.schema), references: only.references };
      return orNull(this.#writeFlat(merged, level, inner), isNullable && allowsNull(rest), this.#rules);
    }
    if (branches.length === 0) return this.#typed(own, level, inner);
    return this.#union(flat, branches, { level, open: inner, isNullable });
  }

  #definitionOf(reference: string): string {
    const existing = this.#definitions.get(reference);
    if (existing !== undefined) return existing;
    const name = `${safeName(reference.split("/").at(-1) ?? "")}_${this.#definitions.size + 1}`;
    this.#definitions.set(reference, name);
    return name;
  }

  /** Returns the union's branches other than `null`, and whether `null` is allowed. */
  #alternatives(flat: Flat): { readonly branches: readonly Flat[]; readonly isNullable: boolean } {
    const all = this.#reader.branches(flat);
    const branches = all.filter(({ schema }) => !isNullOnly(schema));
    return { branches, isNullable: branches.length < all.length || flat.schema["nullable"] === true };
  }

  #union(
    flat: Flat,
    branches: readonly Flat[],
    { level, open, isNullable }: { level: number; open: readonly string[]; isNullable: boolean },
  ): JsonObject {
    const { schema: own } = flat;
    const objects = this.#asObject(flat);
    const areAllObjects = branches.every(({ schema }) => isObjectLike(schema, own));
    if (areAllObjects && objects !== null && (this.#rules.types !== "list" || hasProperties(own)))
      return orNull(this.#object(objects, level, open), isNullable, this.#rules);
    const { anyOf: _, oneOf: _2, ...beside } = own;
    const writeBranch = ({ schema, references }: Flat): JsonObject =>
      this.#writeFlat(
        { schema: this.#reader.merge(schema, withoutTexts(beside)), references },
        level + 1,
        open,
      );
    if (this.#rules.types === "single") {
      const text = branches.find(({ schema }) => acceptsType(schema, "string"));
      const chosen = text ?? branches[0] ?? NOTHING;
      const others = branches.some(({ schema }) => schema !== chosen.schema && isContainerSchema(schema));
      const written = writeBranch(chosen);
      const note = others && text !== undefined ? JSON_TEXT : "";
      return { ...written, ...described([textOf(own["description"]), textOf(written["description"]), note]) };
    }
    const written = branches.map(writeBranch);
    if (isNullable) written.push({ type: "null" });
    const description = described([textOf(own["description"])]);
    if (this.#rules.types === "list") return { ...description, anyOf: written };
    // Google allows no keywords beside a union.
    const [first = {}, ...others] = written;
    const texts = [textOf(own["description"]), textOf(first["description"])];
    return { anyOf: [{ ...first, ...described(texts) }, ...others] };
  }

  /** Writes a schema without a union. */
  #typed(own: JsonObject, level: number, open: readonly string[]): JsonObject {
    const types = typesOf(own) ?? inferredTypes(own);
    if (types === null) return this.#any(own);
    const isNullable = types.includes("null") || own["nullable"] === true;
    const others = types.filter((type) => type !== "null");
    const write = (type: Type): JsonObject => this.#one({ ...own, type }, type, level, open);
    const [first] = others;
    if (first === undefined) return this.#onlyNull(own);
    if (others.length === 1) return orNull(write(first), isNullable, this.#rules);
    const chosen = others.includes("string") ? "string" : first;
    if (this.#rules.types === "single") {
      const isText = chosen === "string" && others.some((type) => type === "object" || type === "array");
      const written = write(chosen);
      return isText ? { ...written, ...described([textOf(written["description"]), JSON_TEXT]) } : written;
    }
    if (this.#rules.types === "list") {
      const written = Object.assign({}, ...others.map(write)) as JsonObject;
      return { ...written, type: isNullable ? [...others, "null"] : [...others] };
    }
    const description = described([textOf(own["description"])]);
    const plain = others.map((type) => this.#one({ ...withoutTexts(own), type }, type, level + 1, open));
    const [head = {}, ...tail] = plain;
    return { anyOf: [{ ...head, ...description }, ...tail, ...(isNullable ? [{ type: "null" }] : [])] };
  }

  #one(own: JsonObject, type: Type, level: number, open: readonly string[]): JsonObject {
    if (type === "object") return this.#object({ schema: own, parts: [own] }, level, open);
    if (type === "array") {
      const items = this.#write(itemsOf(own), level + 1, open);
      return { type, ...this.#keywords(own, type), items };
    }
    return { type, ...this.#keywords(own, type) };
  }

  /** Returns the subschemas whose properties form the object; `null` if the schema does not describe objects. */
  #asObject(flat: Flat): ObjectParts | null {
    const { schema } = flat;
    const types = typesOf(schema);
    if (types !== null && !types.includes("object")) return null;
    if (enumOf(schema)?.some(isJsonObject) === false) return null;
    const branches = this.#reader
      .branches(flat)
      .filter(({ schema: branch }) => isObjectLike(branch, schema))
      .map(({ schema: branch }) => branch);
    const hasUnion = Array.isArray(schema["anyOf"]) || Array.isArray(schema["oneOf"]);
    if (hasUnion && branches.length === 0 && !hasProperties(schema) && types === null) return null;
    return { schema, parts: [schema, ...branches] };
  }

  #object({ schema, parts }: ObjectParts, level: number, open: readonly string[]): JsonObject {
    const [, ...branches] = parts;
    const all = this.#reader.parts(schema).filter((part) => isObjectLike(part, schema));
    const properties = this.#reader.propertiesIn([...parts, ...all]);
    const always = requiredIn(schema);
    const inEach = branches.map(requiredIn);
    const required = new Set([
      ...always,
      ...(inEach[0] ?? []).filter((name) => inEach.every((names) => names.includes(name))),
    ]);
    const entries: Array<readonly [string, JsonObject]> = [];
    const needed: string[] = [];
    for (const [name, schemas] of properties) {
      const inner: JsonValue = schemas.length === 1 ? (schemas[0] ?? true) : { anyOf: [...schemas] };
      // `null`: the schema forbids this property.
      if (this.#reader.flatten(inner) === null) continue;
      const mapped = mappedName(name, this.#rules);
      const written = this.#write(inner, level + 1, open);
      const text = mapped === name ? "" : `Named ${JSON.stringify(cut(textOf(name), MAX_HINT))}.`;
      const property = text === "" || "$ref" in written ? written : withText(written, text, this.#rules);
      entries.push([mapped, property]);
      const isHiddenNull = this.#rules.types === "single" && this.#allowsNull(inner);
      if (required.has(name) && !isHiddenNull) needed.push(mapped);
    }
    const isFree = entries.length === 0 && level > 0;
    if (isFree && (acceptsMore(schema) || this.#rules.objectsAreText))
      return this.#freeObject(schema, level, open);
    return {
      type: "object",
      ...this.#keywords(schema, "object"),
      properties: Object.fromEntries(entries),
      ...(needed.length > 0 && { required: needed }),
      ...this.#additional(schema, level, open),
    };
  }

  #allowsNull(schema: JsonValue): boolean {
    return this.#reader.parts(schema).some((part) => allowsNull(part) && !isAnything(part));
  }

  #additional(schema: JsonObject, level: number, open: readonly string[]): JsonObject {
    const { additionalProperties: more } = schema;
    if (!this.#rules.keywords.has("additionalProperties")) return {};
    if (typeof more === "boolean") return { additionalProperties: more };
    return isJsonObject(more) ? { additionalProperties: this.#write(more, level + 1, open) } : {};
  }

  /** Writes an object without declared properties. */
  #freeObject(schema: JsonObject, level: number, open: readonly string[]): JsonObject {
    const texts = this.#keywords(schema, "object");
    if (this.#rules.objectsAreText)
      return { type: "string", ...described([textOf(texts["description"]), "A JSON object, as text."]) };
    const { additionalProperties: more } = this.#additional(schema, level, open);
    return { type: "object", ...texts, properties: {}, additionalProperties: more ?? true };
  }

  /** Writes a schema without its subschemas, because it is too deep, too large or recursive. */
  #shortened(own: JsonObject): JsonObject {
    const types = (typesOf(own) ?? inferredTypes(own) ?? []).filter((type) => type !== "null");
    const [type] = types;
    const description = described([textOf(own["description"])]);
    if (types.length !== 1 || type === undefined) return this.#any(own);
    if (type === "object") return this.#freeObject({ ...description }, this.#maxLevels, []);
    if (type === "array") return { type, ...description, items: this.#any({}) };
    return { type, ...this.#keywords(own, type) };
  }

  /** Writes a schema that accepts everything. */
  #any(own: JsonObject): JsonObject {
    const texts = this.#keywords(own, null);
    if (this.#rules.types === "list") return texts;
    return { type: "string", ...described([textOf(texts["description"]), `Any value. ${JSON_TEXT}`]) };
  }

  #onlyNull(own: JsonObject): JsonObject {
    const texts = this.#keywords(own, "null");
    if (this.#rules.types !== "single") return { type: "null", ...texts };
    return { type: "string", ...described([textOf(texts["description"]), "Leave it out."]) };
  }

  #enum(own: JsonObject, all: readonly JsonValue[]): JsonObject {
    const types = typesOf(own);
    const fitting = all.filter((value) => types === null || types.some((type) => isOfType(value, type)));
    const isNullable = fitting.includes(null) || (own["nullable"] === true && types !== null);
    const values = fitting.filter((value) => value !== null);
    const { enum: _, const: _2, anyOf: _3, oneOf: _4, ...rest } = own;
    const typed = [...new Set(values.map(typeOf))];
    const bare: JsonObject = { ...rest, type: typed.length === 1 ? (typed[0] ?? "string") : typed };
    if (values.length === 0)
      return fitting.length > 0 ? this.#onlyNull(rest) : this.#write(rest, this.#maxLevels, []);
    const texts = [...new Set(values.map(enumText))].filter(
      (text) => !this.#rules.enumsAreText || text !== "",
    );
    const isLarge =
      values.length > MAX_ENUM ||
      texts.join("").length > MAX_ENUM_CHARACTERS ||
      this.#enums + values.length > MAX_ENUMS;
    const isPlain = values.every((value) => typeof value !== "object");
    if (isLarge || texts.length === 0 || (this.#rules.enumsAreText && !isPlain)) {
      const some = texts.slice(0, 10).map((text) => cut(text, MAX_HINT));
      const note = `One of ${values.length} values${some.length > 0 ? `, such as ${some.join(", ")}` : ""}.`;
      const description = described([textOf(own["description"]), note]);
      return orNull(this.#write({ ...bare, ...description }, this.#maxLevels, []), isNullable, this.#rules);
    }
    this.#enums += values.length;
    const [type] = typed;
    if (this.#rules.enumsAreText)
      return orNull({ type: "string", ...this.#keywords(rest, null), enum: texts }, isNullable, this.#rules);
    const listed = isNullable ? [...values, null] : [...values];
    const names = isNullable ? [...typed, "null"] : typed;
    return {
      type: names.length === 1 && type !== undefined ? type : names,
      ...this.#keywords(rest, null),
      ...(typed.includes("array") && { items: {} }),
      ...(typed.includes("object") && { properties: {} }),
      enum: distinct(listed.map((value) => cleanJson(value))),
    };
  }

  /** Returns the keywords that the provider accepts; others are appended to the description. */
  #keywords(own: JsonObject, type: Type | null): JsonObject {
    const result: JsonObject = {};
    const hints: string[] = [];
    for (const [key, value] of Object.entries(own)) {
      const keyword = Object.hasOwn(KEYWORDS, key) ? KEYWORDS[key] : undefined;
      if (keyword === undefined) continue;
      if (type !== null && keyword.types !== null && !keyword.types.includes(type)) continue;
      const read = readLimit(own, key, value);
      if (read === null || !keyword.isValid(read[1], type)) continue;
      const [name, used] = read;
      const isKept =
        key === "format" ? this.#rules.formats.has(textOf(used)) : this.#rules.keywords.has(name);
      if (isKept && (name !== "pattern" || isPortable(textOf(used)))) result[name] = cleanJson(used);
      else if (keyword.isHint) hints.push(`${name}: ${cut(textOf(JSON.stringify(used)), MAX_HINT)}`);
    }
    const hint = hints.length === 0 ? "" : `(${hints.join("; ")})`;
    return { ...result, ...described([textOf(own["description"]), hint]) };
  }
}

interface ObjectParts {
  readonly schema: JsonObject;
  /** The schema, and the branches of its union. */
  readonly parts: readonly JsonObject[];
}

const NOTHING: Flat = { schema: {}, references: [] };
const JSON_TEXT = "Objects and arrays as JSON text.";

/** The combined schemas that may apply to one value of the arguments. */
interface View {
  readonly parts: readonly JsonObject[];
  readonly items: readonly JsonValue[];
  readonly properties: ReadonlyMap<string, readonly JsonValue[]>;
  readonly byMapped: ReadonlyMap<string, string>;
  readonly additional: readonly JsonValue[];
  readonly allowsNull: boolean;
  /** True if a schema explicitly allows `null`, which the model can only express by omitting the property. */
  readonly wantsNull: boolean;
  /** Enum values by their text form. */
  readonly values: ReadonlyMap<string, JsonValue>;
}

class ArgumentRestorer {
  readonly #schemas: readonly JsonValue[];
  readonly #rules: Dialect;
  readonly #work = new Work();
  readonly #reader: SchemaReader;
  /** By schema, or by list of schemas, because the items of an array share them. */
  readonly #views = new WeakMap<object, View>();
  readonly #nulls = new WeakMap<View, readonly string[]>();

  /** Work for the current arguments; `#work` counts the work for the schema. */
  #ofCall = new Work();

  constructor(root: JsonValue, rules: Dialect) {
    this.#schemas = [root];
    this.#rules = rules;
    this.#reader = new SchemaReader(root, this.#work);
  }

  restore(input: JsonValue): JsonValue {
    this.#ofCall = new Work();
    try {
      return this.#restore(input, this.#schemas, 0);
    } catch (error) {
      if (error instanceof TooMuchWork) return input;
      throw error;
    }
  }

  /** Maps the value back to the original schemas, any of which may apply. */
  #restore(value: JsonValue, schemas: readonly JsonValue[], level: number): JsonValue {
    if (level > MAX_VALUE_LEVELS || typeof value === "number" || typeof value === "boolean") return value;
    const view = this.#viewOf(schemas);
    const read = typeof value === "string" ? this.#fromText(value, view) : value;
    if (Array.isArray(read)) return read.map((item) => this.#restore(item, view.items, level + 1));
    return isJsonObject(read) ? this.#object(read, view, level) : read;
  }

  #object(value: JsonObject, view: View, level: number): JsonObject {
    const { properties, byMapped, additional } = view;
    const entries: Array<readonly [string, JsonValue]> = [];
    const present = new Set<string>();
    for (const [key, inner] of Object.entries(value)) {
      const name = properties.has(key) ? key : (byMapped.get(key) ?? key);
      const schemas = properties.get(name) ?? additional;
      const restored = this.#restore(inner, schemas, level + 1);
      // Dropping `null` from a required property is safe: validation rejects the call either way.
      const isAbsent = restored === null && properties.has(name);
      if (isAbsent && !this.#viewOf(schemas).allowsNull) continue;
      present.add(name);
      entries.push([name, restored]);
    }
    for (const name of this.#nullsOf(view)) {
      this.#ofCall.spend(name.length + 1);
      if (!present.has(name)) entries.push([name, null]);
    }
    return Object.fromEntries(entries);
  }

  /** Returns the required properties whose absence means `null`. */
  #nullsOf(view: View): readonly string[] {
    if (this.#rules.types !== "single") return [];
    const cached = this.#nulls.get(view);
    if (cached !== undefined) return cached;
    const required = new Set(view.parts.flatMap(requiredIn));
    const names = [...required].filter((name) => this.#viewOf(view.properties.get(name) ?? []).wantsNull);
    this.#nulls.set(view, names);
    return names;
  }

  #viewOf(schemas: readonly JsonValue[]): View {
    const [only, ...others] = schemas;
    const key = only !== undefined && isJsonObject(only) && others.length === 0 ? only : schemas;
    const cached = this.#views.get(key);
    if (cached !== undefined) return cached;
    const parts = schemas.filter(isJsonObject).flatMap((schema) => this.#reader.parts(schema));
    for (const part of parts) this.#work.spend(this.#work.sizeOf(part));
    const properties = this.#reader.propertiesIn(parts);
    const view = {
      parts,
      items: parts.flatMap(itemSchemas),
      properties,
      byMapped: new Map([...properties.keys()].map((name) => [mappedName(name, this.#rules), name])),
      additional: parts.flatMap(({ additionalProperties: more }) => (isJsonObject(more) ? [more] : [])),
      allowsNull: parts.some(allowsNull),
      wantsNull: parts.some((part) => allowsNull(part) && !isAnything(part)),
      values: this.#rules.enumsAreText ? valuesByText(parts) : new Map<string, JsonValue>(),
    };
    this.#views.set(key, view);
    return view;
  }

  /** Returns the enum value or JSON that a string encodes, if the rewritten schema requires a string. */
  #fromText(text: string, { parts, values }: View): JsonValue {
    const value = values.get(text) ?? text;
    if (value !== text) return value;
    if (this.#rules.types === "list" || !parts.some(isContainerSchema)) return text;
    return parseContainer(text) ?? text;
  }
}

function valuesByText(parts: readonly JsonObject[]): ReadonlyMap<string, JsonValue> {
  const values = parts.flatMap((part) => enumOf(part) ?? []);
  const byText = new Map<string, JsonValue>();
  for (const value of values) if (typeof value === "string") byText.set(value, value);
  for (const value of values) if (!byText.has(enumText(value))) byText.set(enumText(value), value);
  return byText;
}

/** Parses a JSON object or array. Returns `undefined` for other text. */
function parseContainer(text: string): JsonValue | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

interface Keyword {
  readonly isValid: (value: JsonValue, type: Type | null) => boolean;
  /** Types that the keyword applies to; `null` for all. */
  readonly types: readonly Type[] | null;
  /** True if an omitted keyword is appended to the description. */
  readonly isHint: boolean;
}

const NUMBERS: readonly Type[] = ["number", "integer"];
const isNumber = (value: JsonValue): boolean => typeof value === "number" && Number.isFinite(value);
const isCount = (value: JsonValue): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isShort = (value: JsonValue): boolean => JSON.stringify(value).length <= MAX_TEXT;
const isText = (value: JsonValue): boolean => typeof value === "string" && value !== "";
const count = (type: Type): Keyword => ({ isValid: isCount, types: [type], isHint: true });
const limit: Keyword = { isValid: isNumber, types: NUMBERS, isHint: true };

const KEYWORDS: Readonly<Record<string, Keyword>> = {
  title: {
    isValid: (value) => isText(value) && textOf(value) === value && value.length <= MAX_HINT,
    types: null,
    isHint: false,
  },
  default: {
    isValid: (value, type) => type !== null && isOfType(value, type) && isShort(value),
    types: null,
    isHint: true,
  },
  examples: {
    isValid: (value) => Array.isArray(value) && value.length > 0 && isShort(value),
    types: null,
    isHint: false,
  },
  format: { isValid: isText, types: ["string"], isHint: true },
  pattern: { isValid: (value) => isText(value) && isPattern(textOf(value)), types: ["string"], isHint: true },
  minimum: limit,
  maximum: limit,
  exclusiveMinimum: limit,
  exclusiveMaximum: limit,
  multipleOf: { isValid: (value) => isNumber(value) && Number(value) > 0, types: NUMBERS, isHint: true },
  minLength: count("string"),
  maxLength: count("string"),
  minItems: count("array"),
  maxItems: count("array"),
  uniqueItems: { isValid: (value) => typeof value === "boolean", types: ["array"], isHint: false },
  minProperties: count("object"),
  maxProperties: count("object"),
};

const EXCLUSIVE: Readonly<Record<string, string>> = {
  minimum: "exclusiveMinimum",
  maximum: "exclusiveMaximum",
};

/** Converts draft 4, where `exclusiveMinimum` is a boolean beside `minimum`. Returns `null` for that boolean. */
function readLimit(own: JsonObject, key: string, value: JsonValue): readonly [string, JsonValue] | null {
  if (key.startsWith("exclusive") && typeof value === "boolean") return null;
  const exclusive = EXCLUSIVE[key];
  return exclusive !== undefined && own[exclusive] === true ? [exclusive, value] : [key, value];
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

/** Returns true if all regular-expression dialects treat the pattern alike. */
function isPortable(text: string): boolean {
  return text.length <= 500 && !/\(\?(?!:)|\\[pPkcuxzZAbBG1-9]/.test(text);
}

function isNever(schema: JsonValue): boolean {
  if (schema === false) return true;
  const not = isJsonObject(schema) ? schema["not"] : undefined;
  return not === true || (isJsonObject(not) && Object.keys(not).length === 0);
}

function isAnything(schema: JsonObject): boolean {
  return (
    typesOf(schema) === null && enumOf(schema) === null && inferredTypes(schema) === null && !isUnion(schema)
  );
}

function isUnion(schema: JsonObject): boolean {
  return [schema["anyOf"], schema["oneOf"]].some((list) => Array.isArray(list) && list.length > 0);
}

/** Returns true if the schema itself allows `null`. Ignores the branches of unions. */
function allowsNull(schema: JsonObject): boolean {
  const values = enumOf(schema);
  if (values !== null) return values.includes(null);
  if (schema["nullable"] === true) return true;
  const types = typesOf(schema);
  return types === null ? !isUnion(schema) && inferredTypes(schema) === null : types.includes("null");
}

function isNullOnly(schema: JsonObject): boolean {
  const values = enumOf(schema);
  if (values !== null) return values.every((value) => value === null);
  const types = typesOf(schema);
  return types !== null && types.every((type) => type === "null");
}

function acceptsType(schema: JsonObject, type: Type): boolean {
  const values = enumOf(schema);
  if (values !== null) return values.some((value) => isOfType(value, type));
  const types = typesOf(schema) ?? inferredTypes(schema);
  return types === null || types.includes(type);
}

function isContainerSchema(schema: JsonObject): boolean {
  return !isUnion(schema) && (acceptsType(schema, "object") || acceptsType(schema, "array"));
}

function hasProperties(schema: JsonObject): boolean {
  return isJsonObject(schema["properties"]) && Object.keys(schema["properties"]).length > 0;
}

/** Returns true if a subschema describes objects. Uses the type of `whole` if the subschema has none. */
function isObjectLike(part: JsonObject, whole: JsonObject): boolean {
  if (enumOf(part) !== null) return false;
  const types = typesOf(part) ?? inferredTypes(part) ?? typesOf(whole) ?? inferredTypes(whole);
  return (
    types !== null && types.every((type) => type === "object" || type === "null") && types.includes("object")
  );
}

/** Returns true if the object may have undeclared properties. */
function acceptsMore({ additionalProperties: more, maxProperties }: JsonObject): boolean {
  return more !== false && maxProperties !== 0;
}

/** Common type names of other languages and OpenAPI. */
const ALIASES: Readonly<Record<string, Type>> = {
  str: "string",
  text: "string",
  date: "string",
  datetime: "string",
  file: "string",
  uuid: "string",
  enum: "string",
  int: "integer",
  int32: "integer",
  int64: "integer",
  long: "integer",
  float: "number",
  double: "number",
  decimal: "number",
  bool: "boolean",
  dict: "object",
  map: "object",
  struct: "object",
  list: "array",
  tuple: "array",
  set: "array",
  none: "null",
  nil: "null",
};

function typeNamed(name: JsonValue): Type | null {
  if (typeof name !== "string") return null;
  const small = name.trim().toLowerCase();
  return (
    TYPES.find((type) => type === small) ?? (Object.hasOwn(ALIASES, small) ? (ALIASES[small] ?? null) : null)
  );
}

/** Returns the recognized types of a schema; `null` if it has none and so allows all. */
function typesOf({ type }: JsonObject): readonly Type[] | null {
  const named = [type ?? null]
    .flat()
    .map(typeNamed)
    .filter((one) => one !== null);
  return named.length === 0 ? null : [...new Set(named)];
}

const INFERRED: ReadonlyArray<readonly [Type, ReadonlySet<string>]> = [
  [
    "object",
    setOf(
      "properties additionalProperties patternProperties required minProperties maxProperties propertyNames",
    ),
  ],
  ["array", setOf("items prefixItems minItems maxItems uniqueItems contains")],
  ["string", setOf("pattern format minLength maxLength contentEncoding contentMediaType")],
  ["number", setOf("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf")],
];

/** Returns the type implied by the schema's keywords; `null` if they imply none. */
function inferredTypes(schema: JsonObject): readonly Type[] | null {
  const match = INFERRED.find(([, keys]) =>
    Object.entries(schema).some(([key, value]) => keys.has(key) && value !== null && value !== false),
  );
  return match === undefined ? null : [match[0]];
}

function typeOf(value: JsonValue): Type {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value as "string" | "boolean" | "object";
}

function isOfType(value: JsonValue, type: Type): boolean {
  const own = typeOf(value);
  return own === type || (type === "number" && own === "integer");
}

/** Returns the values of `enum` or `const`; `null` if the schema has none. */
function enumOf(schema: JsonObject): readonly JsonValue[] | null {
  if ("const" in schema) return [schema["const"] ?? null];
  const { enum: values } = schema;
  return Array.isArray(values) && values.length > 0 ? values : null;
}

function enumText(value: JsonValue): string {
  return cleanText(typeof value === "string" ? value : JSON.stringify(value));
}

function distinct(values: readonly JsonValue[]): JsonValue[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** Returns one schema for all items, including tuple items. */
function itemsOf(schema: JsonObject): JsonValue {
  const [only, ...others] = itemSchemas(schema);
  if (only === undefined) return true;
  return others.length === 0 ? only : { anyOf: distinct([only, ...others]) };
}

function itemSchemas({ items, prefixItems, additionalItems }: JsonObject): readonly JsonValue[] {
  const tuple = [prefixItems, items].find(Array.isArray) ?? [];
  const rest = Array.isArray(items) ? additionalItems : items;
  return isJsonObject(rest) ? [...tuple, rest] : tuple;
}

/** Returns the number of keys or items; 0 for anything else. */
function keysIn(value: JsonValue | undefined): number {
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}

function requiredIn({ required }: JsonObject): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function withoutTexts({
  description: _,
  title: _2,
  default: _3,
  examples: _4,
  ...rest
}: JsonObject): JsonObject {
  return rest;
}

/** Adds `null` to a written schema if the provider can express it. */
function orNull(written: JsonObject, isNullable: boolean, { types }: Dialect): JsonObject {
  if (!isNullable || types === "single") return written;
  const { type, enum: values, anyOf } = written;
  if (Array.isArray(anyOf))
    return anyOf.some((branch) => isJsonObject(branch) && branch["type"] === "null")
      ? written
      : { ...written, anyOf: [...anyOf, { type: "null" }] };
  if (type === undefined) return "$ref" in written ? { anyOf: [written, { type: "null" }] } : written;
  const names = [...new Set([type, "null"].flat())];
  if (!Array.isArray(values)) return { ...written, type: names };
  // Google accepts only strings in an enum.
  if (types === "nullable") return { anyOf: [written, { type: "null" }] };
  return { ...written, type: names, enum: values.includes(null) ? values : [...values, null] };
}

/** Prepends text to the description of a written schema. */
function withText(written: JsonObject, text: string, { types }: Dialect): JsonObject {
  const { anyOf } = written;
  if (types !== "nullable" || !Array.isArray(anyOf))
    return { ...written, ...described([text, textOf(written["description"])]) };
  const [first = {}, ...others] = anyOf.filter(isJsonObject);
  return { anyOf: [{ ...first, ...described([text, textOf(first["description"])]) }, ...others] };
}

function described(texts: readonly string[]): { description?: string } {
  const description = cut(texts.filter((text) => text !== "").join(" "), MAX_TEXT);
  return description === "" ? {} : { description };
}

/** Returns the string without control characters; "" for other values. */
function textOf(value: unknown): string {
  return typeof value === "string"
    ? cleanText(value)
        .replaceAll(/[^\P{Cc}\n\t]/gu, " ")
        .trim()
    : "";
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

function safeName(name: string): string {
  const plain = name
    .normalize("NFKD")
    .replaceAll(/[^a-zA-Z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, 50);
  return /^[a-zA-Z]/.test(plain) ? plain : `p_${plain}`.replace(/_$/, "");
}

/** Returns the property name that the model sees. Depends only on the original name, so that it can be mapped back. */
function mappedName(name: string, { names }: Dialect): string {
  if (names.test(name) && !FORBIDDEN_NAMES.has(name)) return name;
  return `${safeName(name)}_${createHash("sha256").update(name).digest("hex").slice(0, 6)}`;
}

function anchorsIn(
  value: JsonValue,
  found: Map<string, JsonValue>,
  level: number,
): ReadonlyMap<string, JsonValue> {
  if (typeof value !== "object" || value === null || level > 64) return found;
  for (const [key, inner] of Object.entries(value)) {
    const isName = (key === "$anchor" || key === "$dynamicAnchor") && typeof inner === "string";
    if (isName && isJsonObject(value)) found.set(inner, value);
    else anchorsIn(inner, found, level + 1);
  }
  return found;
}
