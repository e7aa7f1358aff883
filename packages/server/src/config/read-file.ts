// Finds and reads the configuration file: JSON by hand, because its errors must say line and column, TypeScript and
// JavaScript by importing it, which Node does as it is.

import { access, readFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pathFailure } from "../core/path-failure.ts";
import { brokenParts } from "./broken-parts.ts";
import { importAnew } from "./import-anew.ts";
import { locateJsonError } from "./json-error.ts";
import { type ConfigProblem, formatPath } from "./problem.ts";
import { findRepeatedNames, type RepeatedName } from "../core/repeated-names.ts";

/** In this order; the first that is there counts. */
const FILE_NAMES = ["colloquy.config.ts", "colloquy.config.js", "colloquy.config.json"] as const;

/** How long a module may take until it is there, in milliseconds. */
const READ_MS = 15_000;

const MODULES: readonly string[] = [".ts", ".mts", ".js", ".mjs"];

export interface FileReading {
  /** What problems call the file; `null` when there is none. */
  readonly source: string | null;
  /** Where the file is, or would be looked for. */
  readonly directory: string;
  /** What the file holds, not checked yet; `undefined` when it could not be read. */
  readonly content: unknown;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

/**
 * Reads the file at `path`, or, when that is `null`, the one in the working directory, if any. Modules are read from the disk again when
 * `reading` is a number that was not used before.
 */
export async function readConfigFile(
  path: string | null,
  workingDirectory: string,
  reading: number,
): Promise<FileReading> {
  if (path !== null) return readOne(path, reading, []);
  const present: string[] = [];
  for (const name of FILE_NAMES) {
    if (await exists(join(workingDirectory, name))) present.push(name);
  }
  const [name, ...others] = present;
  if (name === undefined) {
    return { source: null, directory: workingDirectory, content: undefined, problems: [], warnings: [] };
  }
  const warnings = others.map((other) => `${other} is not read, because there is also ${name}.`);
  return readOne(join(workingDirectory, name), reading, warnings);
}

async function readOne(path: string, reading: number, warnings: readonly string[]): Promise<FileReading> {
  const source = basename(path);
  const failed = (place: string, message: string): FileReading => ({
    source,
    directory: dirname(path),
    content: undefined,
    problems: [{ source, place, message }],
    warnings,
  });
  const extension = extname(path);
  if (extension !== ".json" && !MODULES.includes(extension)) {
    return failed("", `is no configuration file: its name must end in .json, ${MODULES.join(", ")}.`);
  }
  if (!(await exists(path)))
    return failed("", `There is no file at ${path}. Set COLLOQUY_CONFIG to one, or unset it.`);
  try {
    // Whether it is a file that this user may read, said in the same way for all kinds.
    await readFile(path).catch((error: unknown) => {
      const advice = "Set COLLOQUY_CONFIG to a file that the user of the service may read.";
      throw new Unreadable("", pathFailure(path, error, advice));
    });
    const { content, repeated } =
      extension === ".json"
        ? await readJson(path)
        : { content: await readModule(path, reading), repeated: [] };
    const broken = brokenParts(content).map(({ path: place, error }) => ({
      source,
      place: formatPath(place),
      message: `cannot be read: ${describeImportError(error, path).message}`,
    }));
    if (broken.length > 0) return { ...failed("", ""), problems: broken };
    const problems = repeated.map(({ path, first, again }) => ({
      source,
      place: formatPath(path),
      message: `stands in ${first}, and again in ${again}; only the last one would count. Keep one of them.`,
    }));
    return { source, directory: dirname(path), content, problems, warnings };
  } catch (error) {
    if (error instanceof Unreadable) return failed(error.place, error.message);
    const { place, message } = describeImportError(error, path);
    return failed(place, message);
  }
}

class Unreadable extends Error {
  readonly place: string;

  constructor(place: string, message: string) {
    super(message);
    this.place = place;
  }
}

async function readJson(
  path: string,
): Promise<{ readonly content: unknown; readonly repeated: readonly RepeatedName[] }> {
  const text = (await readFile(path, "utf8")).replace(/^\uFEFF/, "");
  try {
    return { content: JSON.parse(text) as unknown, repeated: findRepeatedNames(text) };
  } catch (error) {
    const { line, column, message } = locateJsonError(text, error);
    throw new Unreadable(`line ${line}, column ${column}`, `${message}.`);
  }
}

async function readModule(path: string, reading: number): Promise<unknown> {
  const content = await inTime(readDefault(path, reading));
  if (content === undefined) {
    throw new Unreadable("", "has no default export. Write `export default { … }`.");
  }
  if (typeof content === "function") {
    throw new Unreadable("", "exports a function. Export the configuration itself: `export default { … }`.");
  }
  return content;
}

/** A default export that is a promise is awaited here, where time counts. */
async function readDefault(path: string, reading: number): Promise<unknown> {
  return await (await importAnew(path, reading)).default;
}

/** A module that awaits what never comes would hold up this reading and all that follow. */
async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `was not read within ${READ_MS / 1_000} s: it awaits something that does not come. Take that await out of it.`;
    late.reject(new Unreadable("", message));
  }, READ_MS);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** What went wrong while a module was imported, with the line in the file when the error names it. */
function describeImportError(
  error: unknown,
  path: string,
): { readonly place: string; readonly message: string } {
  if (!(error instanceof Error))
    return { place: "", message: "It threw something that is no Error while it was read." };
  const position = positionIn(error.stack ?? "", path);
  const [line, column] = [position?.[1], position?.[2]];
  const place =
    line === undefined ? "" : column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
  return { place, message: `${error.name}: ${withoutSource(error)}.` };
}

/** What the language says of a file may quote it, and a key may stand there. What the file itself throws is meant to be read. */
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

/** Line and column of the first place in the file that a stack names. */
function positionIn(stack: string, path: string): RegExpExecArray | null {
  for (let mark = stack.indexOf(path); mark >= 0; mark = stack.indexOf(path, mark + 1)) {
    const position = /^(?:\?[\w-]+=\d+)?:(\d+)(?::(\d+))?/.exec(stack.slice(mark + path.length));
    if (position !== null) return position;
  }
  return null;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
