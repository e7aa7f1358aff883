// The port through which a running turn writes. A write is durable when its promise resolves. `false` means
// that the turn was interrupted, deleted or taken over, and must stop silently. Implemented by
// `StoredTurnJournal` (sessions/turn-journal.ts).

import type { AskedAction } from "../core/action.ts";
import type { ToolOutcomeInput } from "../core/commands/call-results.ts";
import type { JsonValue } from "../core/json.ts";
import type { StepCall } from "../core/message.ts";
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
  /** Opens a turn's journal (`openJournal` in sessions/turn-journal.ts); the session is in memory when this resolves. */
  open(turn: StartedTurn, signal: AbortSignal, queue: WorkQueue): Promise<TurnJournal & { close(): void }>;
}

export interface TurnJournal {
  /** Returns the latest turns that fit into `maxCharacters`, ending with this one; `null` if the turn is superseded. */
  history(maxCharacters: number): Promise<readonly PastTurn[] | null>;
  /** Appends sanitized text of the model. Publishes it at once, and stores it within 250 ms. */
  appendText(text: string): void;
  /** Stores a step with its calls, which count as started unless they are `allowed` or wait for a decision. */
  stepWithCalls(step: NewStep, calls: readonly StepCall[], asked: readonly AskedAction[]): Promise<boolean>;
  /** Stores a step whose text does not match the requested schema; the message loses that text. */
  rejectStep(step: NewStep): Promise<boolean>;
  /** Suspends the turn when only calls with pending actions are left. */
  wait(): Promise<boolean>;
  toolProgress(callId: string, progress: JsonValue): void;
  /** Stores the start of allowed calls. Must be durable before any call with `needsIntent` runs. */
  startCalls(callIds: readonly string[]): Promise<boolean>;
  /** Stores a result and, in the same write, the start of the calls that take the freed slot. */
  toolResult(outcome: ToolOutcomeInput, starts?: readonly string[]): Promise<boolean>;
  /** Stores the last step and completes the turn. */
  complete(step: NewStep): Promise<boolean>;
  /** Fails the turn, and keeps its text so far. */
  fail(failure: TurnFailure): Promise<boolean>;
}
