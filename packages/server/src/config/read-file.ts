// Finds and reads the configuration file. JSON is parsed here, so that errors have a line and column; TypeScript and
// JavaScript are imported, which Node supports natively.

import { lstat, readFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { describeFileError } from "@colloquy/engine/internal/core/file-error";
import { isPlainObject } from "@colloquy/engine/internal/core/json";
import { scanJson, type RepeatedName } from "@colloquy/engine/internal/core/json-scan";
import { stampOf } from "@colloquy/engine/internal/config/file-stamps";
import { type ConfigProblem, formatPath } from "@colloquy/engine/internal/config/problem";

/** Names of the configuration file in order of precedence; the first existing file is used. */
const FILE_NAMES = ["ts", "mts", "js", "mjs", "json"].map((extension) => `colloquy.config.${extension}`);

/** Time limit for importing a module, in milliseconds. */
const IMPORT_TIMEOUT_MS = 15_000;

const MODULES: readonly string[] = [".ts", ".mts", ".js", ".mjs"];

export interface FileReading {
  /** Name of the file in problems; `null` if there is none. */
  readonly source: string | null;
  /** Directory of the file; if there is none, the directory that was searched. */
  readonly directory: string;
  /** Unvalidated content; `undefined` if the file could not be read. */
  readonly content: unknown;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

/**
 * Reads the file at `path`; if `path` is `null`, the file in the working directory, if there is one. Adds the stamps
 * of all files that it reads or searches for to `stamps`, before it reads them.
 */
export async function readConfigFile(
  path: string | null,
  workingDirectory: string,
  stamps: Map<string, string>,
): Promise<FileReading> {
  for (const file of path === null ? FILE_NAMES.map((name) => join(workingDirectory, name)) : [path])
    stamps.set(file, stampOf(file));
  if (path !== null) return readOne(path, stamps, []);
  const present: string[] = [];
  for (const name of FILE_NAMES) {
    if (await exists(join(workingDirectory, name))) present.push(name);
  }
  const [name, ...others] = present;
  if (name === undefined) {
    return { source: null, directory: workingDirectory, content: undefined, problems: [], warnings: [] };
  }
  const warnings = others.map((other) => `${other} is not read, because there is also ${name}.`);
  return readOne(join(workingDirectory, name), stamps, warnings);
}

/** Reads the file once; see `readConfigFile`. */
async function readOne(
  path: string,
  stamps: Map<string, string>,
  warnings: readonly string[],
): Promise<FileReading> {
  const source = basename(path);
  const failed = (location: string, message: string): FileReading => ({
    source,
    directory: dirname(path),
    content: undefined,
    problems: [{ source, location, message }],
    warnings,
  });
  const extension = extname(path);
  if (extension !== ".json" && !MODULES.includes(extension)) {
    return failed("", `is not a configuration file: its name must end in .json, ${MODULES.join(", ")}.`);
  }
  if (!(await exists(path)))
    return failed("", `There is no file at ${path}. Set COLLOQUY_CONFIG to one, or unset it.`);
  try {
    // Check readability first, so that all file types fail with the same message.
    await readFile(path).catch((error: unknown) => {
      const advice = "Set COLLOQUY_CONFIG to a file that the user of the service may read.";
      throw new Unreadable("", describeFileError(path, error, advice));
    });
    const { content, repeated } =
      extension === ".json"
        ? await readJson(path)
        : { content: await readModule(path, stamps), repeated: [] };
    try {
      readAll(content);
    } catch (error) {
      return failed("", `cannot be read: ${describeImportError(error, path).message}`);
    }
    const problems = repeated.map(({ path, first, again }) => ({
      source,
      location: formatPath(path),
      message: `is defined in ${first}, and again in ${again}; only the last one would count. Keep one of them.`,
    }));
    return { source, directory: dirname(path), content, problems, warnings };
  } catch (error) {
    if (error instanceof Unreadable) return failed(error.location, error.message);
    const { location, message } = describeImportError(error, path);
    return failed(location, message);
  }
}

class Unreadable extends Error {
  readonly location: string;

  constructor(location: string, message: string) {
    super(message);
    this.location = location;
  }
}

async function readJson(
  path: string,
): Promise<{ readonly content: unknown; readonly repeated: readonly RepeatedName[] }> {
  const text = (await readFile(path, "utf8")).replace(/^\uFEFF/, "");
  try {
    const content = JSON.parse(text) as unknown;
    const all = Number.POSITIVE_INFINITY;
    return {
      content,
      repeated: scanJson(text, { depth: all, values: all, repeatedNames: all }).repeatedNames,
    };
  } catch (error) {
    const { line, column, message } = locateJsonError(text, error);
    throw new Unreadable(`line ${line}, column ${column}`, `${message}.`);
  }
}

async function readModule(path: string, stamps: Map<string, string>): Promise<unknown> {
  const content = await withTimeout(readDefault(path, stamps));
  if (content === undefined) {
    throw new Unreadable("", "has no default export. Write `export default { … }`.");
  }
  if (typeof content === "function") {
    throw new Unreadable("", "exports a function. Export the configuration itself: `export default { … }`.");
  }
  return content;
}

/** Returns the default export. Awaits a promise here, so that the timeout covers it. */
async function readDefault(path: string, stamps: Map<string, string>): Promise<unknown> {
  const exported = await importFile(path, stamps);
  const content: unknown = await exported.default;
  // Node loads a file without `import` and `export` as CommonJS, which always exports an object.
  const isCommonJs = "module.exports" in exported;
  return isCommonJs && isDeepStrictEqual(content, {}) ? undefined : content;
}

/**
 * Rejects after `IMPORT_TIMEOUT_MS`: a module that awaits a promise that never settles would block this load and all
 * later ones.
 */
async function withTimeout<Result>(work: Promise<Result>): Promise<Result> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `did not load within ${IMPORT_TIMEOUT_MS / 1_000} s: it awaits something that never settles. Remove that await.`;
    timeout.reject(new Unreadable("", message));
  }, IMPORT_TIMEOUT_MS);
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Message of Node about module syntax in a CommonJS file. */
const MODULE_AS_COMMONJS =
  /^Unexpected token 'export'|^Cannot use (?:import statement outside a module|'import\.meta')/;

/** Describes the error of a file with module syntax that Node reads as CommonJS; `null` for other errors. */
export function describeModuleProblem(error: unknown, path: string): string | null {
  if (!(error instanceof SyntaxError) || !MODULE_AS_COMMONJS.test(error.message)) return null;
  const name = basename(path).replace(/(?<=\.)[jt]s$/, "m$&");
  return `is read as CommonJS, because package.json has "type": "commonjs". Rename the file to ${name}, or set "type": "module".`;
}

/** Describes an import error, with the line in the file if the error names it. */
function describeImportError(
  error: unknown,
  path: string,
): { readonly location: string; readonly message: string } {
  if (!(error instanceof Error))
    return { location: "", message: "threw a value that is not an Error while loading." };
  const position = positionIn(error.stack ?? "", path);
  const [line, column] = [position?.[1], position?.[2]];
  const location =
    line === undefined ? "" : column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
  const moduleProblem = describeModuleProblem(error, path);
  if (moduleProblem !== null) return { location, message: moduleProblem };
  return { location, message: `${error.name}: ${withoutSource(error)}.` };
}

/**
 * Returns the error's message without quoted source text, which may contain a key. Errors that the file itself throws
 * are not changed.
 */
function withoutSource(error: Error): string {
  const [line = ""] = error.message.split("\n");
  switch (error.name) {
    case "ReferenceError":
      return "a name in it is not defined";
    case "TypeError":
      return error.message.replace(
        /^.* (?=is not (?:a function|a constructor|iterable))/s,
        "something in it ",
      );
    case "SyntaxError":
      return line.startsWith("The requested module ") ? line : line.replace(/["'`].*["'`]/, "…");
    default:
      return error.message;
  }
}

/** Finds the line and column of the first position in the file that a stack names. */
function positionIn(stack: string, path: string): RegExpExecArray | null {
  for (let mark = stack.indexOf(path); mark >= 0; mark = stack.indexOf(path, mark + 1)) {
    const position = /^(?:\?[\w-]+=\d+)?:(\d+)(?::(\d+))?/.exec(stack.slice(mark + path.length));
    if (position !== null) return position;
  }
  return null;
}

/** Returns true for a dangling symbolic link too: it must be reported rather than ignored. */
async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Reads every property, so that a getter or proxy that throws is reported as a problem of the file. */
function readAll(value: unknown, seen = new Set<unknown>()): void {
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.add(value);
  if (!Array.isArray(value) && !isPlainObject(value)) return;
  for (const part of Object.values(value)) readAll(part, seen);
}

/** Imports the module at `path`. Adds its stamp, and those of the files that it imports by a relative path. */
export async function importFile(
  path: string,
  stamps: Map<string, string>,
): Promise<{ readonly default?: unknown }> {
  const url = pathToFileURL(path);
  const ours = new Set([url.href]);
  if (!stamps.has(path)) stamps.set(path, stampOf(path));
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      const { parentURL = "" } = context;
      if (specifier === url.href) {
        const resolved = nextResolve(specifier, context);
        // Node resolves symbolic links, so the URL may differ from `specifier`.
        ours.add(resolved.url);
        return resolved;
      }
      if (!ours.has(parentURL) || !/^(?:\.{0,2}\/|file:)/.test(specifier)) {
        return nextResolve(specifier, context);
      }
      // Record before resolution, which throws for a missing file.
      const file = fileURLToPath(new URL(specifier, parentURL));
      if (!stamps.has(file)) stamps.set(file, stampOf(file));
      const resolved = nextResolve(specifier, context);
      ours.add(resolved.url);
      return resolved;
    },
  });
  try {
    return (await import(url.href)) as { readonly default?: unknown };
  } finally {
    hooks.deregister();
  }
}

/** A JSON syntax error. Line and column start at 1. The message never quotes the text, which may contain a key. */
export interface JsonError {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Locates the error that `JSON.parse` threw for `text`. */
export function locateJsonError(text: string, error: unknown): JsonError {
  const description = error instanceof Error ? error.message : String(error);
  const position = positionOf(text, description);
  const before = text.slice(0, position).split("\n");
  return {
    line: before.length,
    column: (before.at(-1) ?? "").length + 1,
    message: description
      .replace(/, (?:\.\.\.)?"[\s\S]*$/, "")
      .replace(/(?: in JSON)?(?: at position \d+[\s\S]*)?$/, "")
      .replace("JSON input", "the file")
      .replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1)),
  };
}

function positionOf(text: string, description: string): number {
  const named = /at position (\d+)/.exec(description)?.[1];
  if (named !== undefined) return Number(named);
  if (description.startsWith("Unexpected end")) return text.length;
  // V8 reports no position for an unexpected token, so bisect: a prefix that ends before the token fails with an
  // unexpected end instead.
  let [valid, invalid] = [0, text.length];
  while (invalid - valid > 1) {
    const middle = Math.floor((valid + invalid) / 2);
    if (hasUnexpectedToken(text.slice(0, middle))) invalid = middle;
    else valid = middle;
  }
  return valid;
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return error instanceof Error && error.message.startsWith("Unexpected token");
  }
}
