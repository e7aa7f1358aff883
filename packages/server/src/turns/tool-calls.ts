import type { JsonValue } from "../core/json.ts";
import type { ToolCallRecord } from "../core/message.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { TurnTools } from "../core/ports/tool.ts";
import type { TurnJournal } from "./journal.ts";

export type ToolResults = ReadonlyMap<string, { readonly output: JsonValue; readonly is_error: boolean }>;

export interface ToolRun {
  readonly tools: TurnTools;
  readonly clock: Clock;
  /** Milliseconds that one call may take. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

/**
 * Runs the calls of a step side by side; each result is on disk as soon as it is there. Answers `null` when the turn was superseded
 * or stopped meanwhile: an aborted call's result belongs to whoever ended the turn.
 */
export async function runToolCalls(
  calls: readonly ToolCallRecord[],
  journal: TurnJournal,
  run: ToolRun,
): Promise<ToolResults | null> {
  const results = new Map<string, { output: JsonValue; is_error: boolean }>();
  const written = await Promise.all(
    calls.map(async (call) => {
      const began = run.clock.monotonic();
      const { output, isError } = await run.tools.call(call.name, call.arguments, {
        callId: call.id,
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
      return await journal.toolResult({ callId: call.id, output, isError, durationMs });
    }),
  );
  return written.every(Boolean) ? results : null;
}
