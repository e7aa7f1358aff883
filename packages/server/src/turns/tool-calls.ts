import type { ToolOutcomeInput } from "../core/decisions/turn-progress.ts";
import type { JsonValue } from "../core/json.ts";
import { needsIntent, type StepCall, type ToolCallRecord } from "../core/message.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { TurnTools } from "../core/ports/tool.ts";
import type { StartedTurn } from "../core/turn.ts";
import type { OutputBudget } from "./answer-outputs.ts";
import { callKey } from "./call-key.ts";
import type { TurnJournal } from "./journal.ts";

/** Calls of one step that run at the same time. A model may ask for any number of them, and each may hold a connection or a process. */
const MAX_AT_ONCE = 8;

export type ToolResults = ReadonlyMap<string, { readonly output: JsonValue; readonly is_error: boolean }>;

export interface ToolRun {
  readonly turn: Pick<StartedTurn, "sessionId" | "life" | "turn">;
  readonly tools: TurnTools;
  readonly outputs: OutputBudget;
  readonly clock: Clock;
  /** Milliseconds that one call may take. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

/**
 * The calls of a new step, as they are to be stored: the first ones start with it, the others are `allowed` until one of these has ended,
 * so that they can run later when the turn is stopped before. Those of `waiting`, who wait for a person, and those that are refused take
 * no place.
 */
export function placeCalls(calls: readonly StepCall[], waiting: ReadonlySet<string>): readonly StepCall[] {
  const running = calls.filter(({ id, refusal }) => refusal === undefined && !waiting.has(id));
  const later = new Set(running.slice(MAX_AT_ONCE));
  return calls.map((call) => (later.has(call) ? { ...call, phase: "allowed" } : call));
}

/** What a model reads of the calls that are never made. */
export function refusalsOf(calls: readonly StepCall[]): ToolResults {
  const refused = calls.flatMap(({ id, refusal }) =>
    refusal === undefined ? [] : [[id, { output: refusal.output, is_error: true }] as const],
  );
  return new Map(refused);
}

/**
 * Runs the calls of a step side by side, some at a time, in their order; each result is on disk as soon as it is there. An unsafe call runs
 * only when its intent is on disk, which those that begin together share, and one that begins when another has ended shares with the
 * result of that. Answers `null` when the turn was superseded or stopped meanwhile: an aborted call's result belongs to whoever ended the
 * turn.
 */
export async function runToolCalls(
  calls: readonly ToolCallRecord[],
  journal: TurnJournal,
  run: ToolRun,
): Promise<ToolResults | null> {
  const first = calls.slice(0, MAX_AT_ONCE);
  const starts = startsOf(first);
  // A turn that is stopped already leaves them as they are: none has begun.
  if (starts.length > 0 && (run.signal.aborted || !(await journal.startCalls(starts)))) return null;
  return await new StepCalls(calls.slice(MAX_AT_ONCE), journal, run).run(first);
}

/** Ids of those calls whose start has to be on disk before it. */
function startsOf(calls: readonly ToolCallRecord[]): readonly string[] {
  return calls.filter(needsIntent).map(({ id }) => id);
}

class StepCalls {
  readonly #waiting: ToolCallRecord[];
  readonly #journal: TurnJournal;
  readonly #run: ToolRun;
  readonly #results = new Map<string, { output: JsonValue; is_error: boolean }>();
  /** After a call that the turn does not survive, refused or a defect, nothing begins any more. */
  #isOver = false;

  constructor(waiting: ToolCallRecord[], journal: TurnJournal, run: ToolRun) {
    this.#waiting = waiting;
    this.#journal = journal;
    this.#run = run;
  }

  async run(first: readonly ToolCallRecord[]): Promise<ToolResults | null> {
    await Promise.all(first.map((call) => this.#runFrom(call)));
    return this.#isOver ? null : this.#results;
  }

  /** Runs a call, then what waits, one after the other. */
  async #runFrom(first: ToolCallRecord): Promise<void> {
    let call: ToolCallRecord | undefined = first;
    try {
      while (call !== undefined && !this.#isOver) call = await this.#runOne(call);
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }

  /** Answers the call that begins in this one's place. */
  async #runOne(call: ToolCallRecord): Promise<ToolCallRecord | undefined> {
    const outcome = await this.#call(call);
    const next = this.#isOver || outcome === null ? undefined : this.#waiting.shift();
    const starts = next === undefined ? [] : startsOf([next]);
    if (outcome === null || !(await this.#journal.toolResult(outcome, starts))) this.#isOver = true;
    return next;
  }

  /** `null` when the turn was stopped meanwhile. */
  async #call(call: ToolCallRecord): Promise<ToolOutcomeInput | null> {
    const { clock, signal, timeoutMs, tools, turn, outputs, onProgress } = this.#run;
    const began = clock.monotonic();
    const {
      output: whole,
      isError,
      ...more
    } = await tools.call(call.name, call.arguments, {
      callId: callKey(turn, call.id),
      judged: call.input ?? call.arguments,
      timeoutMs,
      signal,
      clock,
      onProgress: (progress) => {
        onProgress();
        this.#journal.toolProgress(call.id, progress);
      },
    });
    if (signal.aborted) return null;
    onProgress();
    const output = outputs.fit(whole);
    this.#results.set(call.id, { output, is_error: isError });
    const durationMs = Math.round(clock.monotonic() - began);
    return { callId: call.id, output, isError, durationMs, ...more };
  }
}
