// Pending actions: listing them, deciding one, and denying those that expire.

import type { Action, PendingAction } from "@colloquy/protocol";
import type { Actor } from "../core/audit.ts";
import { toPendingAction, toWireAction } from "../core/action.ts";
import type { ActionAnswer, ActionOutcome } from "../core/commands/decide-action.ts";
import { Conflict, InvalidRequest, NotFound, ServiceError } from "../core/errors.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SessionAccess } from "../core/session-access.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { ActionService, NewSessionOptions } from "../core/ports/driving/services.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** Maximum decided actions in a list, beside the pending ones. */
const LISTED = 100;
const EXPIRY_CHECK_MS = 1_000;
/** Maximum sessions that one transaction expires, so that it never delays chats. */
const PORTION = 64;

export interface ActionsOptions {
  readonly store: Pick<Store, "actions">;
  readonly registry: SessionRegistry;
  readonly dispatcher: Dispatcher;
}

export class Actions implements ActionService {
  readonly #options: ActionsOptions;

  constructor(options: ActionsOptions) {
    this.#options = options;
  }

  async list(
    sessionId: string,
    access: SessionAccess,
    creation: NewSessionOptions,
  ): Promise<readonly Action[]> {
    const { store, registry } = this.#options;
    await registry.get(sessionId, access, creation);
    const actions = await store.actions.list(sessionId, LISTED);
    return (actions ?? []).map(toWireAction);
  }

  async pending(sessionId: string): Promise<readonly PendingAction[]> {
    const actions = await this.#options.store.actions.list(sessionId, 0);
    return (actions ?? []).map(toPendingAction);
  }

  async decide(
    sessionId: string,
    actionId: string,
    answer: ActionAnswer,
    access: SessionAccess | null,
    by: Actor | null = null,
  ): Promise<Action> {
    const { registry, dispatcher } = this.#options;
    const decision = registry.execute({
      kind: "decideAction",
      target: { session: sessionId, birth: null, load: false, access },
      input: { action: actionId, ...answer, by },
    });
    // The decision may have been stored, and its turn may then be claimable.
    decision.catch(() => dispatcher.workArrived());
    const { outcome } = (await decision) ?? { outcome: { kind: "unknown" } as const };
    if ("arrived" in outcome && outcome.arrived > 0) dispatcher.workArrived(outcome.arrived);
    if (outcome.kind !== "decided") throw refusal(outcome);
    return toWireAction(outcome.action);
  }
}

export interface ActionExpiryOptions extends ActionsOptions {
  readonly store: Pick<Store, "executeEach" | "actions">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Denies actions that expired without a decision, so that their turns continue. Checks on the store's clock,
 * and writes only if an action is due.
 */
export class ActionExpiry {
  readonly #options: ActionExpiryOptions;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;
  /** True if the last check failed. */
  #isFailing = false;

  constructor(options: ActionExpiryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= this.#options.clock.every(EXPIRY_CHECK_MS, () => void this.sweep());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.stop();
    await this.#running;
  }

  /** Checks now, or joins the check in progress. Never rejects. */
  async sweep(): Promise<void> {
    this.#running ??= this.#expire().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async #expire(): Promise<void> {
    const { store, logger } = this.#options;
    try {
      let more = await store.actions.isAnyDue();
      while (more && !this.#stopped) more = (await this.#expireSome()) === PORTION;
      if (!this.#isFailing) return;
      this.#isFailing = false;
      // A failed transaction may have been stored: memory then lacks it, and its turns are not announced yet.
      this.#options.registry.invalidateWaiting();
      this.#options.dispatcher.workArrived();
    } catch (error) {
      // Logged once, because it is retried every second.
      if (!this.#isFailing) logger.warn({ err: error }, "could not expire actions; retrying");
      this.#isFailing = true;
    }
  }

  async #expireSome(): Promise<number> {
    const { store, registry, dispatcher } = this.#options;
    const expired = await store.executeEach({ kind: "expireActions", limit: PORTION });
    for (const committed of expired) registry.apply(committed);
    const arrived = expired.reduce((sum, { outcome }) => sum + outcome.arrived, 0);
    if (arrived > 0) dispatcher.workArrived(arrived);
    return expired.length;
  }
}

function refusal(outcome: Exclude<ActionOutcome, { kind: "decided" }>): ServiceError {
  switch (outcome.kind) {
    case "unknown":
      return new NotFound(
        "action_not_found",
        "This session has no action with this id. `pending_actions` of its snapshot shows those that wait.",
      );
    case "invalid":
      return new InvalidRequest(
        "action_result_invalid",
        `The body field "result" must be ${outcome.expected}.`,
      );
    case "decided_otherwise":
      return new Conflict(
        "action_decided",
        "This action was decided in another way before. A decision cannot be taken back.",
      );
    case "cancelled":
      return new Conflict(
        "action_cancelled",
        "The answer that asked was stopped, so there is nothing left to decide. Send a message to go on.",
      );
    case "expired":
      return new ServiceError(
        410,
        "action_expired",
        "The action expired without a decision and counts as denied. Ask the assistant to try again.",
      );
  }
}
