// The worker thread that compiles clients' schemas and checks answers against them. Aborts work beyond the
// time limit. Uses `process` to measure the thread's processor time.

import { threadCpuUsage } from "node:process";
import { createContext, Script } from "node:vm";
import { parentPort, type MessagePort } from "node:worker_threads";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { SchemaAnswer, SchemaQuestion } from "./schema-checker.ts";

const LIMIT_MS = 100;
/** Maximum attempts while other threads keep the processor busy. Each attempt has twice the time of the previous one. */
const MAX_ATTEMPTS = 3;
const MAX_COMPILED = 100;
const MAX_ISSUES = 5;
const MAX_CHARACTERS = 1_000;

/** Without `strict`, unknown keywords and combinations are ignored, as the specification says. */
const OPTIONS = { strict: false, allErrors: true, validateFormats: false } as const;

if (parentPort === null)
  throw new Error("schema-worker.ts is started by schema-checker.ts, as a worker thread");
start(parentPort);

function start(port: MessagePort): void {
  const limited = limit();
  const compiled = new Map<string, ValidateFunction>();
  let compile = compiler();
  /** Replaces the compiler, because ajv never frees the schemas that it has compiled. */
  const forget = (): void => {
    compiled.clear();
    compile = compiler();
  };

  const problemOf = (schema: string, value: unknown, limitMs: number): string | null => {
    if (compiled.size === MAX_COMPILED && !compiled.has(schema)) forget();
    const validate = compiled.get(schema) ?? limited(limitMs, () => compile(schema));
    compiled.set(schema, validate);
    return value === undefined || limited(limitMs, () => validate(value))
      ? null
      : describe(validate.errors ?? []);
  };

  port.on("message", ({ id, schema, value }: SchemaQuestion) => {
    const answer = (attempt: number): string | null => {
      try {
        return problemOf(schema, value, LIMIT_MS * 2 ** (attempt - 1));
      } catch (error) {
        // A stopped compiler is in an unknown state.
        forget();
        if (!(error instanceof Stopped)) return messageOf(error);
        const isOver = !error.isStarved || attempt === MAX_ATTEMPTS;
        return isOver ? `it takes longer than ${LIMIT_MS} ms to check` : answer(attempt + 1);
      }
    };
    port.postMessage({ id, problem: answer(1) } satisfies SchemaAnswer);
  });
}

class Stopped extends Error {
  /** True if the machine was so busy that this thread ran for less than half of the time. */
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
      throw new Stopped(user + system < (limitMs * 1_000) / 2);
    }
  };
}

/** Creates a compiler and warms it up, so that the time limit applies to the client's schema only. */
function compiler(): (schema: string) => ValidateFunction {
  const [latest, draft7] = [new Ajv2020(OPTIONS), new Ajv(OPTIONS)];
  for (const ajv of [latest, draft7]) ajv.compile({ type: "object" });
  return (text) => {
    const schema = JSON.parse(text) as { readonly $schema?: string };
    const ajv = schema.$schema?.includes("draft-07") === true ? draft7 : latest;
    return ajv.compile(schema);
  };
}

function describe(errors: readonly ErrorObject[]): string {
  const issues = errors.slice(0, MAX_ISSUES).map(({ instancePath, message = "is wrong", params }) => {
    const { allowedValues, additionalProperty } = params as Record<string, unknown>;
    const detail = allowedValues ?? additionalProperty;
    const place = instancePath === "" ? "it" : instancePath;
    return `${place} ${message}${detail === undefined ? "" : ` (${JSON.stringify(detail)})`}`;
  });
  return issues.join("; ").slice(0, MAX_CHARACTERS);
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
