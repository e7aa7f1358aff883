// The port through which a running turn writes. A write is durable when its promise resolves. `false` means
// that the turn was interrupted, deleted or taken over, and must stop silently. Implemented by
// `StoredTurnJournal` (sessions/turn-journal.ts).

import type { NewAction } from "../core/action.ts";
import type { ToolOutcomeInput } from "../core/commands/call-results.ts";
import type { JsonValue } from "../core/json.ts";
import type { StepCall } from "../core/message.ts";
import type { Following } from "../core/ports/driven/bus.ts";
import type { PastTurn } from "../core/ports/driven/store.ts";
import type { NewStep, StartedTurn, TurnFailure } from "../core/turn.ts";

/** Receives notice of claimable turns in the store. Implemented by `Dispatcher`. */
export interface WorkQueue {
  /**
   * `arrived` is the number of turns that started to wait for a slot: 0 if a turn that was already counted
   * became runnable, `null` if unknown.
   */
  workArrived(arrived: number | null): void;
}

export interface TurnJournals {
  /**
   * Opens a turn's journal (`StoredTurnJournals` in sessions/turn-journal.ts); the session is in memory when
   * this resolves. `following` is the subscription to requests of other processes.
   */
  open(
    turn: StartedTurn,
    signal: AbortSignal,
    queue: WorkQueue,
    following: Following,
  ): Promise<TurnJournal & { close(): void }>;
}

export interface TurnJournal {
  /**
   * Returns the latest turns that fit into `maxCharacters`, ending with this one. With `useSummary`, begins
   * with the turn of the newest summary (`TurnStore.history`). Returns `null` if the turn is superseded.
   */
  history(maxCharacters: number, useSummary?: boolean): Promise<readonly PastTurn[] | null>;
  /**
   * Begins a step after the first, for which messages may have been read: `steered` if so, and the history has then
   * changed; `stopped` if the turn must stop.
   */
  beginStep(step: number): Promise<"same" | "steered" | "stopped">;
  /** Appends sanitized text of the model. Publishes it at once, and stores it within 250 ms. */
  appendText(text: string): void;
  /** Starts a model call. Its reasoning replaces that of an earlier attempt at the step. */
  beginCall(step: number): void;
  /** Publishes reasoning of the current model call to those who asked for it. */
  appendReasoning(text: string): void;
  /** Stores a step with its calls, which count as started unless they are `allowed` or wait for a decision. */
  stepWithCalls(step: NewStep, calls: readonly StepCall[], actions: readonly NewAction[]): Promise<boolean>;
  /** Stores a step whose text does not match the requested schema; the message loses that text. */
  rejectStep(step: NewStep): Promise<boolean>;
  /** Suspends the turn when only calls with pending actions are left. */
  wait(): Promise<boolean>;
  toolProgress(callId: string, progress: JsonValue): void;
  /** Stores the start of allowed calls. Must be durable before any call with `needsIntent` runs. */
  startCalls(callIds: readonly string[]): Promise<boolean>;
  /** Stores a result and, in the same write, the start of the calls that take the freed slot. */
  toolResult(outcome: ToolOutcomeInput, starts?: readonly string[]): Promise<boolean>;
  /** Stores the last step and completes the turn. `summaryBudget` stores a summary job. */
  complete(step: NewStep, summaryBudget?: number | null): Promise<boolean>;
  /** Fails the turn, and keeps its text so far. */
  fail(failure: TurnFailure, summaryBudget?: number | null): Promise<boolean>;
}
