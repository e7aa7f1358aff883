// The dispatcher's options, and the slot reservation of a chat.

import type { ChatOutcome } from "../core/commands/chat.ts";
import type { TurnClaim } from "../core/commands/turns.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Committed } from "../core/ports/driven/session-store.ts";
import type { TurnStore } from "../core/ports/driven/turn-store.ts";
import type { StartedTurn } from "../core/turn.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { TurnRunner } from "./turn-runner.ts";

/** What an accepted turn waits for: a free slot, or the session's previous turn. */
export type WaitingFor = "slot" | "session";

/** A slot for a chat's turn, or the reason why the turn must wait. */
export interface Reservation {
  /** `null` if the turn must wait in the store. */
  readonly claim: TurnClaim | null;
  readonly fullProviders: readonly string[];
  /** Must be called with the transaction's outcome; `waitingFor` is `null` if it left no waiting turn. */
  complete(started: StartedTurn | null, waitingFor: WaitingFor | null): void;
}

/** Starts a chat's turn in its slot, or returns the slot; `outcome` is `null` if the transaction failed. */
export function finishReservation({ complete }: Reservation, outcome: ChatOutcome | null): void {
  if (outcome?.kind !== "accepted") complete(null, null);
  else if (outcome.started !== null) complete(outcome.started, null);
  else complete(null, outcome.runnable ? "slot" : "session");
}

export interface DispatcherOptions {
  readonly store: TurnStore;
  readonly running: RunningTurns;
  readonly clock: Clock;
  readonly owner: string;
  readonly logger: Logger;
  readonly runner: Pick<TurnRunner, "run">;
  readonly apps: AppCatalog;
  /** Applies and publishes the commit of a claim. */
  readonly registry: { apply(committed: Committed<StartedTurn | null>): unknown };
  readonly hub: Pick<EventHub, "notifyWork">;
  /** True if no other process takes or adds turns in the store. */
  readonly isAlone: boolean;
  /** Maximum turns waiting in the store; further chats are rejected. */
  readonly maxWaiting: number;
}
