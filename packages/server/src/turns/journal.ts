// What a running turn tells the rest of the service. Each write is durable when its promise resolves; `false` means that the turn
// may no longer write (interrupted, deleted, taken over) and has to stop without a word.

import type { AskedAction } from "../core/action.ts";
import type { ToolOutcomeInput } from "../core/decisions/turn-progress.ts";
import type { JsonValue } from "../core/json.ts";
import type { StepCall } from "../core/message.ts";
import type { PastTurn } from "../core/ports/turn-store.ts";
import type { StepRecord } from "../core/turn.ts";

export interface TurnFailure {
  /** Stable word, part of the wire. */
  readonly code: string;
  /** What the person is told. */
  readonly message: string;
}

export interface TurnJournal {
  /** The turns so far with this one at the end, as many as fit into `maxCharacters`; `null` when the turn is superseded. */
  history(maxCharacters: number): Promise<readonly PastTurn[] | null>;
  /** Clean text that the model has just said: shown at once, on disk within 250 ms. */
  say(text: string): void;
  /** A step that asked for tools; from here on the calls count as started, but those that ask a person first and those that are `allowed`. */
  stepWithCalls(
    step: StepRecord,
    calls: readonly StepCall[],
    asked: readonly AskedAction[],
  ): Promise<boolean>;
  /** Nothing is left to run but what a person is asked about: the turn is given up here, for whoever claims it afterwards. */
  wait(): Promise<boolean>;
  toolProgress(callId: string, progress: JsonValue): void;
  /** Allowed calls begin: to be on disk before they do, of each that `needsIntent`. */
  startCalls(callIds: readonly string[]): Promise<boolean>;
  /** As `startCalls` for `starts`, the calls that begin in place of this one, in one write with its result. */
  toolResult(outcome: ToolOutcomeInput, starts?: readonly string[]): Promise<boolean>;
  /** The last step; the turn is complete. */
  complete(step: StepRecord): Promise<boolean>;
  /** The turn has failed; what it said so far is kept. */
  fail(failure: TurnFailure): Promise<boolean>;
}
