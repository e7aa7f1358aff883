// Makes the policy decision on each call of a step before it is stored: allow, ask a person, or deny.

import { randomUUID } from "node:crypto";
import type { ActionRequest, AskedAction } from "../core/action.ts";
import type { JsonValue } from "../core/json.ts";
import type { StepCall } from "../core/message.ts";
import type { TurnTools } from "../core/ports/driven/tool.ts";
import { cleanJson } from "./clean-json.ts";

export interface DecideOptions {
  readonly tools: TurnTools;
  /** Milliseconds until an action expires. */
  readonly validMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

export interface DecidedCalls {
  /** All calls in order, with their decisions to store. */
  readonly calls: readonly StepCall[];
  /** Actions that must be decided before their calls may run. */
  readonly asked: readonly AskedAction[];
}

/**
 * Decides calls sequentially, except those already denied. Returns `null` if the turn was stopped meanwhile.
 */
export async function decideCalls(
  calls: readonly StepCall[],
  { tools, validMs, signal, onProgress }: DecideOptions,
): Promise<DecidedCalls | null> {
  const decided: StepCall[] = [];
  const asked: AskedAction[] = [];
  for (const call of calls) {
    if (call.refusal !== undefined) {
      decided.push(call);
      continue;
    }
    // Pass a copy, so that a rule cannot change the arguments that will run.
    const decision = await untilAborted(tools.decide(call.name, structuredClone(call.arguments)), signal);
    if (decision === null || signal.aborted) return null;
    onProgress();
    if (decision.kind === "deny") {
      const { kind: _, ...refusal } = decision;
      decided.push({ ...call, refusal });
      continue;
    }
    decided.push(decision.input === undefined ? call : { ...call, input: decision.input });
    if (decision.kind === "ask")
      asked.push({ id: randomUUID(), callId: call.id, asked: cleanRequest(decision.request), validMs });
  }
  return { calls: decided, asked };
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
