// Makes the policy decision on each call of a step before it is stored: allow, ask a person, or refuse.

import { randomUUID } from "node:crypto";
import type { ActionRequest, AskedAction } from "../core/action.ts";
import type { JsonValue } from "../core/json.ts";
import type { StepCall } from "../core/message.ts";
import type { TurnTools } from "../core/ports/driven/tool.ts";
import { cleanJson } from "./clean-json.ts";

export interface JudgeOptions {
  readonly tools: TurnTools;
  /** Milliseconds until an action expires. */
  readonly validMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

export interface JudgedCalls {
  /** All calls in order, with their decisions to store. */
  readonly calls: readonly StepCall[];
  /** Actions that must be decided before their calls may run. */
  readonly asked: readonly AskedAction[];
}

/**
 * Decides calls sequentially, except those already refused. Returns `null` if the turn was stopped meanwhile.
 */
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
    // Pass a copy, so that a rule cannot change the arguments that will run.
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

/** Cleans the request's strings; its shape stays the same. */
function cleanRequest({ kind, request }: ActionRequest): ActionRequest {
  return { kind, request: cleanJson(request as JsonValue) } as ActionRequest;
}

/** Resolves with `null` as soon as the signal aborts: a hanging tool must not delay the end of its turn. */
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
