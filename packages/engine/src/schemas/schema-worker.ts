// The worker thread that compiles schemas and checks values against them. Aborts work beyond the time limit. Uses
// `process` to measure the thread's processor time.

import { threadCpuUsage } from "node:process";
import { createContext, Script } from "node:vm";
import { parentPort, type MessagePort } from "node:worker_threads";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import { DATA, SCHEMAS_BY_NAME } from "../core/schema-keywords.ts";
import type { SchemaAnswer, SchemaQuestion } from "./schema-checker.ts";

/** Milliseconds of processor time for compiling a schema, and for checking a value. */
const LIMIT_MS = 100;
/** Maximum attempts while other threads keep the processor busy. Each attempt has twice the time of the previous one. */
const MAX_ATTEMPTS = 5;
/** Maximum schemas of a compiler, and characters of them, until all are forgotten. */
const MAX_COMPILED = 100;
const MAX_COMPILED_CHARACTERS = 512 * 1024;
const MAX_ISSUES = 5;
const MAX_CHARACTERS = 1_000;

/**
 * Without `strict`, unknown keywords and combinations are ignored, as the specification says. Inlined references
 * would multiply the code of a schema, and optimizing the code takes quadratic time.
 */
const OPTIONS = {
  strict: false,
  validateFormats: false,
  inlineRefs: false,
  code: { optimize: false },
} as const;

/**
 * Keywords that are removed: names, which would collide with those of other schemas; and `$async`, with which ajv
 * returns promises. References by these names do not resolve.
 */
const REMOVED: ReadonlySet<string> = new Set(["$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$async"]);
function start(port: MessagePort): void {
  const limited = limit();
  let compiler = new Compiler();

  const problemOf = ({ schema, value, listsSeveral }: SchemaQuestion, limitMs: number): SchemaAnswer => {
    if (compiler.isFull) compiler = new Compiler();
    const compile = compiler.for(schema, listsSeveral);
    let validate: ValidateFunction;
    try {
      validate = limited(limitMs, compile);
    } catch (error) {
      if (error instanceof Stopped) throw error;
      // Whether a value matches an invalid schema is unknown.
      return { kind: value === undefined ? "wrong" : "unchecked", text: messageOf(error) };
    }
    if (value === undefined || limited(limitMs, () => validate(value))) return null;
    return { kind: "wrong", text: describe(validate.errors ?? []) };
  };

  const answer = (question: SchemaQuestion, attempt: number): SchemaAnswer => {
    try {
      return problemOf(question, LIMIT_MS * 2 ** (attempt - 1));
    } catch (error) {
      // A stopped compiler is in an unknown state.
      compiler = new Compiler();
      if (error instanceof RangeError)
        return { kind: "unchecked", text: "its schema refers to itself without an end" };
      if (!(error instanceof Stopped)) return { kind: "unchecked", text: messageOf(error) };
      if (error.isStarved && attempt < MAX_ATTEMPTS) return answer(question, attempt + 1);
      return { kind: "unchecked", text: `it takes longer than ${LIMIT_MS} ms to check` };
    }
  };

  port.on("message", (question: SchemaQuestion) => port.postMessage(answer(question, 1)));
}

/** Compiles schemas. Never frees what it has compiled, because ajv does not, so it must be replaced when it is full. */
class Compiler {
  readonly #instances = new Map<string, Ajv>();
  readonly #compiled = new Map<string, ValidateFunction>();
  /** Number and characters of schemas, including invalid ones, which ajv keeps too. */
  #count = 0;
  #characters = 0;

  get isFull(): boolean {
    return this.#count >= MAX_COMPILED || this.#characters >= MAX_COMPILED_CHARACTERS;
  }

  /** Returns a function that compiles the schema once. Warms ajv up, so that a time limit applies to the schema only. */
  for(text: string, allErrors: boolean): () => ValidateFunction {
    const key = `${allErrors} ${text}`;
    const known = this.#compiled.get(key);
    if (known !== undefined) return () => known;
    const schema = JSON.parse(text) as JsonObject;
    const { $schema: dialect } = schema;
    const isDraft7 = typeof dialect === "string" && dialect.includes("draft-07");
    const ajv = this.#instance(isDraft7, allErrors);
    this.#count += 1;
    this.#characters += text.length;
    return () => {
      const validate = ajv.compile(withoutNames(schema));
      this.#compiled.set(key, validate);
      return validate;
    };
  }

  #instance(isDraft7: boolean, allErrors: boolean): Ajv {
    const key = `${isDraft7} ${allErrors}`;
    const known = this.#instances.get(key);
    if (known !== undefined) return known;
    const options = { ...OPTIONS, allErrors };
    const ajv = isDraft7 ? new Ajv(options) : new Ajv2020(options);
    ajv.compile({ type: "object" });
    this.#instances.set(key, ajv);
    return ajv;
  }
}

/** Returns a copy without the keywords in `REMOVED`. Recursive: the depth of schemas is bounded. */
function withoutNames(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]): Array<[string, JsonValue]> => {
    if (REMOVED.has(key)) return [];
    if (DATA.has(key)) return [[key, value]];
    if (!SCHEMAS_BY_NAME.has(key) || !isJsonObject(value)) return [[key, innerWithoutNames(value)]];
    const named = Object.entries(value).map(([name, inner]) => [name, innerWithoutNames(inner)] as const);
    return [[key, Object.fromEntries(named)]];
  });
  return Object.fromEntries(entries);
}

function innerWithoutNames(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(innerWithoutNames);
  return isJsonObject(value) ? withoutNames(value) : value;
}

class Stopped extends Error {
  /** True if the machine was so busy that this thread did not run for its limit. */
  readonly isStarved: boolean;

  constructor(isStarved: boolean) {
    super();
    this.isStarved = isStarved;
  }
}

/** Returns a function that runs another one. Throws `Stopped` if that takes longer than the limit. */
function limit(): <Result>(limitMs: number, run: () => Result) => Result {
  const script = new Script("run()");
  const global: { run?: () => unknown } = createContext({});
  return (limitMs, run) => {
    global.run = run;
    const before = threadCpuUsage();
    try {
      return script.runInContext(global, { timeout: limitMs });
    } catch (error) {
      if (!isTimeout(error)) throw error;
      const { user, system } = threadCpuUsage(before);
      throw new Stopped((user + system) / 1_000 < 0.8 * LIMIT_MS);
    }
  };
}

/**
 * Describes the first errors. Stops early: thousands of errors may have the same values, each list of which is as long as a schema, or
 * the name of a property, which is as long as an input.
 */
function describe(errors: readonly ErrorObject[]): string {
  // Alternatives often fail for the same reason.
  const issues = new Set<string>();
  const details = new Map<unknown, string>();
  for (const { instancePath, message = "is wrong", params } of errors) {
    const { allowedValues, additionalProperty } = params as Record<string, unknown>;
    const detail = allowedValues ?? additionalProperty;
    if (!details.has(detail)) details.set(detail, detail === undefined ? "" : ` (${JSON.stringify(detail)})`);
    const place = instancePath === "" ? "it" : instancePath;
    issues.add(`${place} ${message}${details.get(detail)}`.slice(0, MAX_CHARACTERS));
    if (issues.size === MAX_ISSUES) break;
  }
  return [...issues].join("; ").slice(0, MAX_CHARACTERS);
}

function isTimeout(error: unknown): boolean {
  // The error comes from another context, so `instanceof` does not work.
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, MAX_CHARACTERS);
}

if (parentPort === null)
  throw new Error("schema-worker.ts is started by schema-checker.ts, as a worker thread");
start(parentPort);
