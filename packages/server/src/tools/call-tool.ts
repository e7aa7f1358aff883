// One tool call, from what the model sent to what it is told. Whatever a tool does, its caller gets an outcome: turns have no
// exceptions of tools to handle, and an abort is answered at once by a tool that does not listen.

import type { JsonValue } from "../core/json.ts";
import {
  SecretMissing,
  type Tool,
  type ToolCallOptions,
  type ToolContext,
  type ToolEffect,
  type ToolOutcome,
} from "../core/ports/tool.ts";
import { cleanText } from "../core/text.ts";
import { complaintOfDepth, type InputCheck } from "./input-check.ts";
import { judgedValue } from "./judged-input.ts";
import { fitJson, jsonBytes, toJson } from "./json-output.ts";
import { ProgressBudget } from "./progress-budget.ts";
import { Beginning, scrubbedBeginning, scrubbedToFit } from "./scrubbed-beginning.ts";
import type { SourceTool, ToolScope } from "./tool-source.ts";

/** Bytes of JSON that an output may have; what a model reads, and what is stored for each call. */
const maximumOutputBytes = 64 * 1_024;
const maximumProgressBytes = 4 * 1_024;
/** Nobody reads it: it is not worth the time of scrubbing, which a tool could ask for ten times a second. */
const refusedProgressBytes = 16 * 1_024;
const maximumMessageBytes = 4 * 1_024;

/** What a model reads of a call that would run with another input than was judged. */
const OTHER_INPUT =
  "This call was not made: the tool would get another input now than when it was called. Call it again if it is still needed.";

/** What the call waited for: the tool's end, its time, or the turn's end. */
type Ending =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "failure"; readonly error: unknown }
  | { readonly kind: "timeout" }
  | { readonly kind: "abort" };

export interface CallableTool {
  readonly tool: SourceTool;
  /** What counts: of the operator's word and the tool's own. */
  readonly effect: ToolEffect;
  readonly checkInput: InputCheck;
}

export interface CallScope extends ToolScope {
  /** Takes the secrets of the turn's client out of whatever leaves the call. */
  scrub(value: JsonValue): JsonValue;
}

/** Runs one call of a tool; see `TurnTools.call` for what the outcomes are. Never rejects. */
export async function callTool(
  callable: CallableTool,
  input: unknown,
  outerScope: CallScope,
  options: ToolCallOptions,
): Promise<ToolOutcome> {
  const scope = scopeOf(callable.tool, outerScope);
  if (options.signal.aborted) return failed("interrupted", scope);
  const checking = checkSafely(callable, input);
  const checked = checking instanceof Promise ? await checking : checking;
  if (typeof checked === "string") return failed(checked, scope);
  const { judged } = options;
  const run = judged === undefined ? checked : judgedValue(checked.value, { sent: input, judged });
  if (run === null) return failed(OTHER_INPUT, scope);
  if (options.signal.aborted) return failed("interrupted", scope);
  const ending = await runToEnding(callable.tool, run.value, scope, options);
  switch (ending.kind) {
    case "value":
      return succeeded(callable.tool, ending.value, scope);
    case "failure": {
      const outcome = failed(describeFailure(callable.tool, ending.error), scope);
      return ending.error instanceof SecretMissing
        ? { ...outcome, missingSecret: ending.error.slot }
        : outcome;
    }
    case "timeout":
      return failed(describeTimeout(callable, options.timeoutMs), scope);
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

/** What is wrong with an input, or the value that the tool gets. A check of somebody else's (a schema in the configuration file) may fail. */
export function checkSafely(
  { tool, checkInput }: CallableTool,
  input: unknown,
): ReadInput | Promise<ReadInput> {
  const describe = (error: unknown): string =>
    `The input of the tool ${tool.name} could not be checked: ${messageOf(error)}.`;
  const read = (checked: string | null | { readonly value: unknown }): ReadInput =>
    checked ?? { value: input };
  try {
    const tooDeep = complaintOfDepth(tool.name, input);
    if (tooDeep !== null) return tooDeep;
    const checked = checkInput(input);
    return checked instanceof Promise ? checked.then(read, describe) : read(checked);
  } catch (error) {
    return describe(error);
  }
}

/** The outcome of a call that is never made. */
export function refusedCall(tool: SourceTool, message: string, scope: CallScope): ToolOutcome {
  return failed(message, scopeOf(tool, scope));
}

async function runToEnding(
  tool: Tool,
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
  const { context, end } = openContext(scope, options, stop.signal);
  // In an async function, so that a tool that throws before its first await fails like any other. Its end is always
  // listened to: when it comes too late it is dropped, and a late rejection is nobody's crash.
  const execute = async (): Promise<unknown> => tool.execute(input, context);
  execute().then(
    (value) => resolve({ kind: "value", value }),
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

/** What a tool is given for a call. After `end` it hears nothing more from it. */
function openContext(
  scope: CallScope,
  { callId, clock, onProgress }: ToolCallOptions,
  signal: AbortSignal,
): { readonly context: ToolContext; readonly end: () => void } {
  const budget = new ProgressBudget(clock);
  let running = true;
  const context = {
    callId,
    signal,
    turn: scope.turn,
    secret: (name: string): string => scope.secret(name),
    progress(value: unknown): void {
      if (running && onProgress !== undefined && budget.take()) onProgress(readProgress(value, scope));
    },
  };
  return { context, end: () => void (running = false) };
}

// Secrets are taken out before anything is cut, because the cut could leave one half; `scrubbedToFit` is the exception, and takes care of halves.

function succeeded(tool: Tool, value: unknown, scope: CallScope): ToolOutcome {
  try {
    const output =
      value instanceof Beginning
        ? scrubbedBeginning(value, maximumOutputBytes, scope.scrub)
        : scrubbedToFit(toJson(value), maximumOutputBytes, scope.scrub);
    return { output, isError: false };
  } catch (error) {
    // Its effect has happened all the same; only the answer is lost.
    return failed(`The tool ${tool.name} finished, but its answer is not JSON: ${messageOf(error)}.`, scope);
  }
}

function failed(message: string, scope: CallScope): ToolOutcome {
  return { output: scrubbedToFit(cleanText(message), maximumMessageBytes, scope.scrub), isError: true };
}

function describeFailure(tool: Tool, error: unknown): string {
  const message = messageOf(error);
  return message === "" ? `The tool ${tool.name} failed without saying why.` : message;
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
    // A report that cannot be shown is no reason to fail the call; its author sees here what was wrong.
    return `Progress that is not JSON: ${messageOf(error)}.`;
  }
}

/** What an error says. Never throws, whatever was thrown. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "";
  }
}
