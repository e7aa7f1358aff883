// What the dispatcher is made of, and what it gives to a chat.

import type { ChatOutcome } from "../core/decisions/chat.ts";
import type { TurnClaim } from "../core/decisions/turns.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { Committed } from "../core/ports/session-store.ts";
import type { TurnStore } from "../core/ports/turn-store.ts";
import type { StartedTurn } from "../core/turn.ts";
import type { RunningTurns } from "./running-turns.ts";

/** What a turn that was accepted and has not started waits for: any free place, or the turn of its session that is before it. */
export type WaitsFor = "a place" | "its session";

/** A place that a chat may start its turn in, or the reason why it has to wait. */
export interface Reservation {
  /** `null` when the turn has to wait in the store. */
  readonly claim: TurnClaim | null;
  readonly fullProviders: readonly string[];
  /** Must be called with what the transaction came to; `waitsFor` is `null` when it left no turn that waits. */
  settle(started: StartedTurn | null, waitsFor: WaitsFor | null): void;
}

/** Gives a chat's place back, or starts its turn there; `outcome` is `null` when its transaction failed. */
export function settleChat({ settle }: Reservation, outcome: ChatOutcome | null): void {
  if (outcome?.kind !== "accepted") settle(null, null);
  else if (outcome.started !== null) settle(outcome.started, null);
  else settle(null, outcome.runnable ? "a place" : "its session");
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
