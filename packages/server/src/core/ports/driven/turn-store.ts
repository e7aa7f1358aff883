// Leases of turns, and their history. One method is one transaction. Commands change turns.

import type { Reasoning } from "@colloquy/protocol";
import type { MessageRecord } from "../../message.ts";
import type { StepRecord, TurnIdentity, TurnState } from "../../turn.ts";

/** A turn in a model's history. */
export interface PastTurn {
  readonly number: number;
  readonly state: TurnState;
  readonly userMessage: Pick<MessageRecord, "content">;
  /** `null` for a turn that has not started. Turns interrupted before their start are left out. */
  readonly agentMessage: MessageRecord | null;
  readonly steps: readonly StepRecord[];
}

/** Reasoning of one step, for people. */
export interface TurnReasoning extends Reasoning {
  readonly turn: number;
}

/** Outcome of a renewal, by epoch. The owner has lost the leases that are in neither list. */
export interface Renewal {
  readonly renewed: readonly number[];
  /** Leases locked by another transaction: unchanged, to be renewed again soon. */
  readonly busy: readonly number[];
}

export interface TurnStore {
  /** Counts turns that wait for an owner or behind a turn that does not wait for a person, up to `limit`. */
  countWaiting(limit: number): Promise<number>;
  /** Extends an owner's leases of these epochs by `leaseMs`, without waiting for locks. */
  renew(owner: string, epochs: readonly number[], leaseMs: number): Promise<Renewal>;
  /**
   * Makes turns with an expired lease runnable; returns how many. A turn's running time ends with its lease.
   * With `everyOther`, also releases the turns of all owners but this one, for a process that is alone.
   */
  releaseDeadLeases(everyOther: string | null): Promise<number>;
  /**
   * Makes an owner's stopped turns of these epochs runnable at once; returns how many. Their running time
   * counts, this attempt does not.
   */
  handBack(owner: string, epochs: readonly number[]): Promise<number>;
  /** Returns the reasoning of turns in the incarnation `life` of a session, oldest first; nothing if it has ended. */
  reasoning(sessionId: string, life: string, turns: readonly number[]): Promise<readonly TurnReasoning[]>;
  /** Returns the last turns ending with this one, oldest first: as many as fit into `maxCharacters`, at least one. Ignores the lease. */
  history(identity: TurnIdentity, maxCharacters: number): Promise<readonly PastTurn[] | null>;
}
