import type { JsonValue } from "../core/json.ts";
import type { ToolCallRecord } from "../core/message.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { TurnTools } from "../core/ports/tool.ts";
import type { StartedTurn } from "../core/turn.ts";
import { callKey } from "./call-key.ts";
import type { TurnJournal } from "./journal.ts";

/** Calls of one step that run at the same time. A model may ask for any number of them, and each may hold a connection or a process. */
const MAX_AT_ONCE = 8;

export type ToolResults = ReadonlyMap<string, { readonly output: JsonValue; readonly is_error: boolean }>;

export interface ToolRun {
  readonly turn: Pick<StartedTurn, "sessionId" | "life" | "turn">;
  readonly tools: TurnTools;
  readonly clock: Clock;
  /** Milliseconds that one call may take. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

/**
 * Runs the calls of a step side by side, some at a time, in their order; each result is on disk as soon as it is there. Answers `null`
 * when the turn was superseded or stopped meanwhile: an aborted call's result belongs to whoever ended the turn.
 */
export async function runToolCalls(
  calls: readonly ToolCallRecord[],
  journal: TurnJournal,
  run: ToolRun,
): Promise<ToolResults | null> {
  const results = new Map<string, { output: JsonValue; is_error: boolean }>();
  const runCall = async (call: ToolCallRecord): Promise<boolean> => {
    const began = run.clock.monotonic();
    const { output, isError, ...more } = await run.tools.call(call.name, call.arguments, {
      callId: callKey(run.turn, call.id),
      timeoutMs: run.timeoutMs,
      signal: run.signal,
      clock: run.clock,
      onProgress: (progress) => {
        run.onProgress();
        journal.toolProgress(call.id, progress);
      },
    });
    if (run.signal.aborted) return false;
    run.onProgress();
    results.set(call.id, { output, is_error: isError });
    const durationMs = Math.round(run.clock.monotonic() - began);
    return await journal.toolResult({ callId: call.id, output, isError, durationMs, ...more });
  };
  const waiting = [...calls];
  const ends = Array.from({ length: MAX_AT_ONCE }, () => runOneByOne(waiting, runCall));
  return (await Promise.all(ends)).every(Boolean) ? results : null;
}

/** Runs what waits, one after the other. After one that the turn does not survive, refused or a defect, nothing that waits begins. */
async function runOneByOne(
  waiting: ToolCallRecord[],
  runCall: (call: ToolCallRecord) => Promise<boolean>,
): Promise<boolean> {
  for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
    let goesOn = false;
    try {
      goesOn = await runCall(call);
    } finally {
      if (!goesOn) waiting.length = 0;
    }
    if (!goesOn) return false;
  }
  return true;
}
