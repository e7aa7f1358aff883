// Leases of turns, and the turns' history. One method is one transaction. Turns are changed by commands.

import type { MessageRecord } from "../../message.ts";
import type { StepRecord, TurnIdentity, TurnState } from "../../turn.ts";

/** One turn of a session's past, as a model is told of it. */
export interface PastTurn {
  readonly number: number;
  readonly state: TurnState;
  readonly userMessage: Pick<MessageRecord, "content">;
  /** `null` for a turn that has not started; those that an interrupt dropped unanswered are left out. */
  readonly agentMessage: MessageRecord | null;
  readonly steps: readonly StepRecord[];
}

/** What became of leases that were to be renewed. Those that are in neither list are the owner's no more. */
export interface Renewal {
  readonly renewed: readonly number[];
  /** The owner's still, but somebody is changing them right now: they run on as they were, and are to be asked for again soon. */
  readonly busy: readonly number[];
}

export interface TurnStore {
  /** How many turns wait for an owner or behind another turn, unless that one waits for a person; counting stops at `limit`. */
  countWaiting(limit: number): Promise<number>;
  /**
   * Prolongs those leases of an owner that are of the given epochs by `leaseMs`, and waits for none of them. Answers by epoch. A lease
   * that is not named runs out: its turn has stopped here without an end, and is to be run again.
   */
  renew(owner: string, epochs: readonly number[], leaseMs: number): Promise<Renewal>;
  /**
   * Makes the turns runnable whose lease has run out. With `everyOther`, also those of all owners but this one: for a
   * process that knows that it is alone. The time that they ran counts, until their leases had run out at most. Answers how many.
   */
  releaseDeadLeases(everyOther: string | null): Promise<number>;
  /**
   * Gives back those turns of an owner that are of the given epochs and have not ended: runnable at once, and this attempt does not
   * count, because nothing of theirs has crashed, though its time does. Their runs must be over. Answers how many.
   */
  handBack(owner: string, epochs: readonly number[]): Promise<number>;

  /**
   * The last turns up to and with this one, oldest first, as many as fit into `maxCharacters`, at least the last. Whether the lease still holds
   * does not matter to what is only read.
   */
  history(identity: TurnIdentity, maxCharacters: number): Promise<readonly PastTurn[] | null>;
}
