// One tool call, from what the model sent to what it is told. Whatever a tool does, its caller gets an outcome: turns have no
// exceptions of tools to handle, and an abort is answered at once by a tool that does not listen.

import type { JsonValue } from "../core/json.ts";
import {
  SecretMissing,
  type Tool,
  type ToolCallOptions,
  type ToolOutcome,
  type ToolTurn,
} from "../core/ports/tool.ts";
import { cleanText } from "../core/text.ts";
import type { InputCheck } from "./input-check.ts";
import { fitJson, toJson } from "./json-output.ts";

/** Bytes of JSON that an output may have; what a model reads, and what is stored for each call. */
const maximumOutputBytes = 64 * 1_024;
const maximumProgressBytes = 4 * 1_024;
const maximumMessageBytes = 4 * 1_024;

/** What the call waited for: the tool's end, its time, or the turn's end. */
type Ending =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "failure"; readonly error: unknown }
  | { readonly kind: "timeout" }
  | { readonly kind: "abort" };

/** Runs one call of a tool; see `ToolRegistry.call` for what the outcomes are. Never rejects. */
export async function callTool(
  tool: Tool,
  checkInput: InputCheck,
  input: unknown,
  turn: ToolTurn,
  options: ToolCallOptions,
): Promise<ToolOutcome> {
  if (options.signal.aborted) return failed("interrupted");
  const complaint = checkInput(input);
  if (complaint !== null) return failed(complaint);
  const ending = await runToEnding(tool, input, turn, options);
  switch (ending.kind) {
    case "value":
      return succeeded(tool, ending.value);
    case "failure":
      return failed(describeFailure(tool, ending.error));
    case "timeout":
      return failed(describeTimeout(tool, options.timeoutMs));
    case "abort":
      return failed(tool.effect === "unsafe" ? "outcome unknown" : "interrupted");
  }
}

async function runToEnding(
  tool: Tool,
  input: unknown,
  turn: ToolTurn,
  options: ToolCallOptions,
): Promise<Ending> {
  const { callId, timeoutMs, signal, clock, onProgress } = options;
  const stop = new AbortController();
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const onAbort = (): void => resolve({ kind: "abort" });
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = clock.after(timeoutMs, () => resolve({ kind: "timeout" }));
  let running = true;
  const context = {
    callId,
    signal: stop.signal,
    turn,
    secret: (name: string): string => {
      throw new SecretMissing(name);
    },
    progress(value: unknown): void {
      if (running) onProgress?.(readProgress(value));
    },
  };
  // In an async function, so that a tool that throws before its first await fails like any other. Its end is always
  // listened to: when it comes too late it is dropped, and a late rejection is nobody's crash.
  const execute = async (): Promise<unknown> => tool.execute(input, context);
  execute().then(
    (value) => resolve({ kind: "value", value }),
    (error: unknown) => resolve({ kind: "failure", error }),
  );
  const ending = await promise;
  running = false;
  timer.stop();
  signal.removeEventListener("abort", onAbort);
  if (ending.kind === "abort") stop.abort(signal.reason);
  if (ending.kind === "timeout") stop.abort(new DOMException("The tool's time is over.", "TimeoutError"));
  return ending;
}

function succeeded(tool: Tool, value: unknown): ToolOutcome {
  try {
    return { output: fitJson(toJson(value), maximumOutputBytes), isError: false };
  } catch (error) {
    // Its effect has happened all the same; only the answer is lost.
    return failed(`The tool ${tool.name} finished, but its answer is not JSON: ${messageOf(error)}.`);
  }
}

function failed(message: string): ToolOutcome {
  return { output: fitJson(cleanText(message), maximumMessageBytes), isError: true };
}

function describeFailure(tool: Tool, error: unknown): string {
  const message = messageOf(error);
  return message === "" ? `The tool ${tool.name} failed without saying why.` : message;
}

function describeTimeout(tool: Tool, timeoutMs: number): string {
  const sentence = `The tool ${tool.name} took longer than ${timeoutMs / 1_000} s and was stopped.`;
  if (tool.effect !== "unsafe") return sentence;
  return `${sentence} Its outcome is unknown: it may have had its effect, so check before calling it again.`;
}

function readProgress(value: unknown): JsonValue {
  try {
    return fitJson(toJson(value), maximumProgressBytes);
  } catch (error) {
    // A report that cannot be shown is no reason to fail the call; its author sees here what was wrong.
    return `Progress that is not JSON: ${messageOf(error)}.`;
  }
}

/** Never throws, whatever was thrown. */
function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "";
  }
}
