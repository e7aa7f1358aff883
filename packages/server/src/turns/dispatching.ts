// What the dispatcher is made of, and what it gives to a chat.

import type { TurnClaim } from "../core/decisions/turns.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { Committed } from "../core/ports/session-store.ts";
import type { TurnStore } from "../core/ports/turn-store.ts";
import type { StartedTurn } from "../core/turn.ts";
import type { RunningTurns } from "./running-turns.ts";

/** A place that a chat may start its turn in, or the reason why it has to wait. */
export interface Reservation {
  /** `null` when the turn has to wait in the store. */
  readonly claim: TurnClaim | null;
  readonly fullProviders: readonly string[];
  /** Must be called with what the transaction came to. */
  settle(started: StartedTurn | null, waits: boolean): void;
}

export interface DispatcherOptions {
  readonly store: TurnStore;
  readonly running: RunningTurns;
  readonly clock: Clock;
  readonly owner: string;
  readonly logger: Logger;
  /** Runs a turn to its end; rejects on a defect. */
  readonly run: (turn: StartedTurn, signal: AbortSignal) => Promise<void>;
  /** The models of each App, its default first. */
  readonly models: () => Readonly<Record<string, readonly string[]>>;
  /** Applies and announces what a claim has committed. */
  readonly settle: (committed: Committed<StartedTurn | null>) => void;
  /** Tells other processes that turns wait which have no room here. */
  readonly callOthers: () => void;
  /** Whether other processes take and leave turns in the store too. */
  readonly isAlone: boolean;
  /** Turns that may wait in the store before chats are refused. */
  readonly maxWaiting: number;
}
