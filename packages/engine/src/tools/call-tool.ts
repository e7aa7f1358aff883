// Runs one tool call, from the arguments that the model sent to the outcome that it gets. Tool exceptions
// become outcomes, and an abort ends the call at once even if the tool ignores its signal.

import { isUtf8 } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ATTACHMENTS_MAX } from "@colloquy/protocol";
import { namedFiles } from "../core/action.ts";
import { TOOL_TEXT_MAX } from "../core/file.ts";
import { isPlainObject, type JsonObject, type JsonValue, sameJson, cleanText } from "../core/json.ts";
import {
  type CallOutcome,
  SecretMissing,
  type Tool,
  type ToolCallOptions,
  type ToolContext,
  type ToolEffect,
  type ToolFile,
  type ToolOutcome,
} from "../core/ports/driven/tool.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import { depthProblem, type InputCheck } from "./input-check.ts";
import { fitJson, jsonBytes, toJson } from "./json-output.ts";
import { Beginning, scrubbedBeginning, scrubbedToFit } from "./scrubbed-beginning.ts";
import { scrubText } from "./scrub.ts";
import { shownFailure, type SourceTool, type ToolScope } from "./tool-source.ts";

/** Limit of an output in bytes of JSON; outputs go to the model and are stored with each call. */
const maximumOutputBytes = 64 * 1_024;
const maximumProgressBytes = 4 * 1_024;
/** Larger progress is not worth the CPU time of scrubbing, which a tool could cause many times a second. */
const refusedProgressBytes = 16 * 1_024;
const maximumMessageBytes = 4 * 1_024;

/** Error output of a call whose input, parsed with the current schema, differs from the approved input. */
const OTHER_INPUT =
  "This call was not made: the tool would get another input now than when it was called. Call it again if it is still needed.";

/** How a call ended: result, error, timeout or abort. */
type Ending =
  | { readonly kind: "value"; readonly value: unknown; readonly files: readonly ToolFile[] }
  | { readonly kind: "failure"; readonly error: unknown }
  | { readonly kind: "timeout" }
  | { readonly kind: "abort" };

export interface CallableTool {
  readonly tool: SourceTool;
  /** Name in the tool's source, if it differs: a suffix distinguishes tools with the same name. */
  readonly sourceName?: string;
  /** Effect of a repeated call: the App's setting, or by default the tool's own. */
  readonly effect: ToolEffect;
  /** Whether calls need approval; `never` if absent. The App's `approvals` take precedence. */
  readonly approval?: "always" | "never";
  readonly checkInput: InputCheck;
}

export interface CallScope extends ToolScope {
  /** Removes the secrets of the turn's client from everything that leaves the call. */
  scrub(value: JsonValue): JsonValue;
}

/**
 * Runs one call of a tool; `TurnTools.call` documents the outcomes. Never rejects. Calls `onFailed` if the
 * tool throws, times out or returns a value that is not JSON.
 */
export async function callTool(
  callable: CallableTool,
  input: unknown,
  outerScope: CallScope,
  options: ToolCallOptions,
  onFailed: (outcome: ToolOutcome) => void = () => undefined,
): Promise<CallOutcome> {
  const scope = scopeOf(callable.tool, outerScope);
  if (options.signal.aborted) return failed("interrupted", scope);
  const checking = checkSafely(callable, input);
  const checked = checking instanceof Promise ? await checking : checking;
  if (typeof checked === "string") return failed(checked, scope);
  const { decidedInput } = options;
  const run = decidedInput === undefined ? checked : decidedValue(checked.value, input, decidedInput);
  if (run === null) return failed(OTHER_INPUT, scope);
  if (options.signal.aborted) return failed("interrupted", scope);
  const ending = await runToEnding(callable, run.value, scope, options);
  switch (ending.kind) {
    case "value": {
      const outcome = succeeded(callable.tool, ending.value, scope);
      if (outcome.isError) onFailed(outcome);
      if (outcome.isError || ending.files.length === 0) return outcome;
      const files: ToolFile[] = [];
      for (const file of ending.files) {
        files.push(scrubbedFile(file, scope));
        // A text takes long, and other turns go on meanwhile.
        await nextTurn();
      }
      return { ...outcome, files };
    }
    case "failure": {
      const message = messageOf(ending.error) || `The tool ${callable.tool.name} failed without saying why.`;
      const outcome = failed(message, scope);
      // Hide the message of an exception, which may contain hosts, paths or other users' data.
      if (ending.error instanceof SecretMissing) return { ...outcome, missingSecret: ending.error.slot };
      onFailed(outcome);
      return { ...outcome, shown: shownFailure(callable.tool.name) };
    }
    case "timeout": {
      const outcome = failed(describeTimeout(callable, options.timeoutMs), scope);
      onFailed(outcome);
      return outcome;
    }
    case "abort":
      return failed(callable.effect === "unsafe" ? "outcome unknown" : "interrupted", scope);
  }
}

function scopeOf({ scrub }: SourceTool, scope: CallScope): CallScope {
  return scrub === undefined
    ? scope
    : { turn: scope.turn, secret: scope.secret, scrub: (value) => scope.scrub(scrub(value)) };
}

type ReadInput = string | { readonly value: unknown };

/**
 * Returns an error message, or the input that the tool gets. A check from a configured schema may throw or
 * reject, which also becomes an error message.
 */
export function checkSafely(
  { tool, checkInput }: CallableTool,
  input: unknown,
): ReadInput | Promise<ReadInput> {
  const describe = (error: unknown): string =>
    `The input of the tool ${tool.name} could not be checked: ${messageOf(error)}.`;
  const read = (checked: string | null | { readonly value: unknown }): ReadInput =>
    checked ?? { value: input };
  try {
    const tooDeep = depthProblem(tool.name, input);
    if (tooDeep !== null) return tooDeep;
    const checked = checkInput(input);
    return checked instanceof Promise ? checked.then(read, describe) : read(checked);
  } catch (error) {
    return describe(error);
  }
}

/** Returns the outcome of a call that is denied before it runs. */
export function refusedCall(tool: SourceTool, message: string, scope: CallScope): ToolOutcome {
  return failed(message, scopeOf(tool, scope));
}

async function runToEnding(
  { tool, effect }: CallableTool,
  input: unknown,
  scope: CallScope,
  options: ToolCallOptions,
): Promise<Ending> {
  const { timeoutMs, signal, clock } = options;
  const stop = new AbortController();
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const onAbort = (): void => resolve({ kind: "abort" });
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = clock.after(timeoutMs, () => resolve({ kind: "timeout" }));
  const { context, files, end } = openContext(scope, { ...options, effect }, stop.signal);
  // The async wrapper turns a synchronous throw into a rejection. `then` with both handlers drops a late
  // result and keeps a late rejection from becoming an unhandled one.
  const execute = async (): Promise<unknown> => tool.execute(input, context);
  execute().then(
    (value) => resolve({ kind: "value", value, files }),
    (error: unknown) => resolve({ kind: "failure", error }),
  );
  const ending = await promise;
  end();
  timer.stop();
  signal.removeEventListener("abort", onAbort);
  if (ending.kind === "abort") stop.abort(signal.reason);
  if (ending.kind === "timeout") stop.abort(new DOMException("The tool's time is over.", "TimeoutError"));
  return ending;
}

/** Creates the context of one call. After `end`, its progress reports and files are ignored. */
function openContext(
  scope: CallScope,
  { callId, clock, effect, onProgress }: ToolCallOptions & Pick<ToolContext, "effect">,
  signal: AbortSignal,
): { readonly context: ToolContext; readonly files: readonly ToolFile[]; readonly end: () => void } {
  const budget = new ProgressBudget(clock);
  const files: ToolFile[] = [];
  let running = true;
  const context = {
    callId,
    effect,
    signal,
    turn: scope.turn,
    secret: (name: string): string => scope.secret(name),
    progress(value: unknown): void {
      if (running && onProgress !== undefined && budget.take()) onProgress(readProgress(value, scope));
    },
    attach(file: ToolFile): void {
      const checked = checkedFile(file);
      if (running) files.push(files.length < ATTACHMENTS_MAX ? checked : OMITTED);
    },
  };
  return { context, files, end: () => void (running = false) };
}

/** Stands for a file beyond the maximum of a result, which is only counted. */
const OMITTED: ToolFile = { data: new Uint8Array() };
const MEDIA_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}(?:;[^"\\]{0,60})?$/;
/** Longer names are dropped, because removing secrets from them would take long. */
const LONGEST_NAME = 1_000;

/** Throws a TypeError for values of another type, which tools in JavaScript may pass. */
function checkedFile({ data, mediaType, name }: ToolFile): ToolFile {
  if (!((data as unknown) instanceof Uint8Array))
    throw new TypeError("The data of a file must be a Uint8Array.");
  for (const [field, value] of Object.entries({ mediaType, name })) {
    if (value !== undefined && value !== null && typeof value !== "string")
      throw new TypeError(`The ${field} of a file must be a string.`);
  }
  return {
    data,
    ...(typeof mediaType === "string" && MEDIA_TYPE.test(mediaType) && { mediaType }),
    ...(typeof name === "string" && name.length <= LONGEST_NAME && { name }),
  };
}

// Secrets are removed before the text is cut, because a cut could leave part of one. `scrubbedToFit` cuts
// first for speed, and handles partial secrets itself.

function succeeded(tool: Tool, value: unknown, scope: CallScope): ToolOutcome {
  try {
    const output =
      value instanceof Beginning
        ? scrubbedBeginning(value, maximumOutputBytes, scope.scrub)
        : scrubbedToFit(toJson(value), maximumOutputBytes, scope.scrub);
    return { output, isError: false };
  } catch (error) {
    // The tool has had its effect; only its result is lost.
    return failed(`The tool ${tool.name} finished, but its answer is not JSON: ${messageOf(error)}.`, scope);
  }
}

/** Removes secrets from the name and from a file of text. */
function scrubbedFile({ data, mediaType, name = "" }: ToolFile, scope: CallScope): ToolFile {
  const scrub = (text: string): string => scrubText(scope.scrub, text);
  const type = mediaType === undefined || scrub(mediaType) !== mediaType ? {} : { mediaType };
  const file = { data, ...type, name: scrub(cleanText(name)) };
  // Larger texts are not kept.
  if (data.length > TOOL_TEXT_MAX || !isUtf8(data)) return file;
  const text = Buffer.from(data.buffer, data.byteOffset, data.length).toString();
  const scrubbed = scrub(text);
  return scrubbed === text ? file : { ...file, data: Buffer.from(scrubbed) };
}

/** Returns a result that a client reports, with the same limits as those of other tools. */
export function reportedResult(result: JsonObject, scope: CallScope): JsonObject {
  const { output = null, error } = result;
  if (typeof error === "string") return { error: failed(error, scope).output };
  const attachments = namedFiles(result);
  try {
    return {
      output: scrubbedToFit(toJson(output), maximumOutputBytes, scope.scrub),
      ...(attachments.length > 0 && { attachments }),
    };
  } catch (problem) {
    return {
      error: failed(`The client ran the tool, but its answer cannot be kept: ${messageOf(problem)}.`, scope)
        .output,
    };
  }
}

function failed(message: string, scope: CallScope): ToolOutcome {
  return { output: scrubbedToFit(cleanText(message), maximumMessageBytes, scope.scrub), isError: true };
}

function describeTimeout({ tool, effect }: CallableTool, timeoutMs: number): string {
  const sentence = `The tool ${tool.name} took longer than ${timeoutMs / 1_000} s and was stopped.`;
  if (effect !== "unsafe") return sentence;
  return `${sentence} Its outcome is unknown: it may have had its effect, so check before calling it again.`;
}

function readProgress(value: unknown, scope: CallScope): JsonValue {
  try {
    const progress = toJson(value);
    const size = jsonBytes(progress);
    if (size > refusedProgressBytes) {
      return `Progress of ${size} bytes is not shown: at most ${refusedProgressBytes} are.`;
    }
    return fitJson(scope.scrub(progress), maximumProgressBytes);
  } catch (error) {
    // Invalid progress does not fail the call; the message tells the tool's author what was wrong.
    return `Progress that is not JSON: ${messageOf(error)}.`;
  }
}

/** Returns the message of a thrown value. Never throws, whatever was thrown. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "";
  }
}

const BURST = 20;
const REFILL_MS = 500;

/**
 * Limits the progress reports of one call: a burst of 20, then two a second. Each report is stored and sent;
 * reports over the limit are dropped.
 */
class ProgressBudget {
  readonly #clock: Clock;
  #left = BURST;
  #refilledAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#refilledAt = clock.monotonic();
  }

  /** Returns true if one more report may be sent now. */
  take(): boolean {
    const refill = Math.floor((this.#clock.monotonic() - this.#refilledAt) / REFILL_MS);
    this.#left = Math.min(BURST, this.#left + refill);
    this.#refilledAt += refill * REFILL_MS;
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}

/** Shown instead of an input that is not JSON. */
const UNSHOWN_INPUT = "The input cannot be shown.";

/** Returns the input in the form that people see and that is stored with its call. */
export function shownInput(value: unknown): JsonValue {
  try {
    return toJson(value);
  } catch {
    return UNSHOWN_INPUT;
  }
}

/**
 * Returns the value to run a call with, or `null` if the call must not run: the approved input and the input
 * that runs are the same. `value` is the input that the schema now parses from the arguments (`sent`);
 * `decided` is the input that was shown before. If a schema yields a different result each time (a date, an
 * id), the decided input runs if it is plain JSON; other values cannot be stored.
 */
function decidedValue(value: unknown, sent: unknown, decided: JsonValue): { readonly value: unknown } | null {
  if (sameJson(shownInput(value), decided)) return { value };
  const isParsed = decided !== UNSHOWN_INPUT && !sameJson(shownInput(sent), decided);
  return isParsed && isPlain(value) ? { value: decided } : null;
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object") return ["undefined", "string", "number", "boolean"].includes(typeof value);
  if (value === null) return true;
  if (Array.isArray(value)) return value.every(isPlain);
  return isPlainObject(value) && Object.values(value).every(isPlain);
}
