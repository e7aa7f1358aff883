// What may become of the calls of a step, before it is stored: each runs, asks a person first, or is never made.

import { randomUUID } from "node:crypto";
import type { ActionRequest, AskedAction } from "../core/action.ts";
import type { JsonValue } from "../core/json.ts";
import type { StepCall } from "../core/message.ts";
import type { TurnTools } from "../core/ports/tool.ts";
import { cleanJson } from "./clean-json.ts";

export interface JudgeOptions {
  readonly tools: TurnTools;
  /** Milliseconds that a person has to decide. */
  readonly validMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

export interface JudgedCalls {
  /** All calls, in their order, with what is to be stored of the judgement. */
  readonly calls: readonly StepCall[];
  /** What a person is to be asked before some of them may run. */
  readonly asked: readonly AskedAction[];
}

/** Judges calls one after the other, but those that are refused already; `null` when the turn was stopped meanwhile. */
export async function judgeCalls(
  calls: readonly StepCall[],
  { tools, validMs, signal, onProgress }: JudgeOptions,
): Promise<JudgedCalls | null> {
  const judged: StepCall[] = [];
  const asked: AskedAction[] = [];
  for (const call of calls) {
    if (call.refusal !== undefined) {
      judged.push(call);
      continue;
    }
    // A copy: whatever judges must not change what will run.
    const verdict = await untilAborted(tools.judge(call.name, structuredClone(call.arguments)), signal);
    if (verdict === null || signal.aborted) return null;
    onProgress();
    if (verdict.kind === "refused") {
      const { kind: _, ...refusal } = verdict;
      judged.push({ ...call, refusal });
      continue;
    }
    judged.push(verdict.input === undefined ? call : { ...call, input: verdict.input });
    if (verdict.kind === "asks")
      asked.push({ id: randomUUID(), callId: call.id, asked: cleanRequest(verdict.request), validMs });
  }
  return { calls: judged, asked };
}

/** Cleaning changes texts and nothing of the shape. */
function cleanRequest({ kind, request }: ActionRequest): ActionRequest {
  return { kind, request: cleanJson(request as JsonValue) } as ActionRequest;
}

/** `null` as soon as the signal is aborted: a tool that does not answer must not hold up the end of its turn. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  const aborted = Promise.withResolvers<null>();
  const abort = (): void => aborted.resolve(null);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
