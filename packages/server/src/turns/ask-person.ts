import { randomUUID } from "node:crypto";
import type { ActionRequest, AskedAction } from "../core/action.ts";
import type { JsonValue } from "../core/json.ts";
import type { ToolCallRecord } from "../core/message.ts";
import type { TurnTools } from "../core/ports/tool.ts";
import { cleanJson } from "./clean-json.ts";

export interface AskOptions {
  readonly tools: TurnTools;
  /** Milliseconds that a person has to decide. */
  readonly validMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

/** What a person is to be asked about the calls of a step before they may run; `null` when the turn was stopped meanwhile. */
export async function askAbout(
  calls: readonly ToolCallRecord[],
  { tools, validMs, signal, onProgress }: AskOptions,
): Promise<readonly AskedAction[] | null> {
  const asked: AskedAction[] = [];
  for (const { id, name, arguments: input } of calls) {
    // A copy: whatever asks must not change what will run.
    const request = await untilAborted(tools.ask(name, structuredClone(input)), signal);
    if (signal.aborted) return null;
    onProgress();
    if (request !== null) asked.push({ id: randomUUID(), callId: id, asked: cleanRequest(request), validMs });
  }
  return asked;
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
