// Pending actions: listing them, deciding one, and denying those that expire.

import { createHash, randomUUID } from "node:crypto";
import type { Action, ActionClaim, PendingAction } from "@colloquy/protocol";
import type { Actor } from "../core/audit.ts";
import { toPendingAction, toWireAction } from "../core/action.ts";
import type { ClaimOutcome } from "../core/commands/claim-action.ts";
import type { ActionAnswer, ActionOutcome } from "../core/commands/decide-action.ts";
import { isActionResult } from "@colloquy/protocol/action-results";
import { Conflict, InvalidRequest, NotFound, ServiceError } from "../core/errors.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { isJsonObject } from "../core/json.ts";
import type { ClientResults } from "../core/ports/driven/tool.ts";
import type { SessionAccess } from "../core/session-access.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { ActionService, ClaimRequest, NewSessionOptions } from "../core/ports/driving/services.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** Maximum number of decided actions in a list, in addition to the pending ones. */
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
  readonly #options: ActionsOptions & { readonly results: ClientResults };

  constructor(options: ActionsOptions & { readonly results: ClientResults }) {
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
    const { registry } = this.#options;
    const cleaned = await this.#clean(sessionId, actionId, answer);
    const outcome = await this.#awaitAndNotify(
      registry.execute({
        kind: "decideAction",
        target: { session: sessionId, birth: null, load: false, access },
        input: { action: actionId, ...cleaned, by },
      }),
    );
    if (outcome.kind !== "decided") throw refusal(outcome);
    return toWireAction(outcome.action);
  }

  async claim(
    sessionId: string,
    actionId: string,
    { renews = null, idempotencyKey = null }: ClaimRequest,
    access: SessionAccess | null,
  ): Promise<ActionClaim> {
    const token =
      idempotencyKey === null
        ? randomUUID()
        : createHash("sha256").update(`${actionId} ${idempotencyKey}`).digest("base64url");
    const outcome = await this.#awaitAndNotify(
      this.#options.registry.execute({
        kind: "claimAction",
        target: { session: sessionId, birth: null, load: false, access },
        input: { action: actionId, renews, token },
      }),
    );
    if (outcome.kind !== "claimed") throw refusal(outcome);
    const { claim } = outcome;
    return { claim: claim.token, expires_at: new Date(claim.expiresAt).toISOString() };
  }

  /** Returns the outcome. If a turn no longer waits for a person, the dispatcher acquires it. */
  async #awaitAndNotify<Outcome extends ActionOutcome | ClaimOutcome>(
    executed: Promise<{ readonly outcome: Outcome } | null>,
  ): Promise<Outcome | { readonly kind: "unknown" }> {
    const { dispatcher } = this.#options;
    // The outcome of a failed commit is unknown: its turn may be claimable.
    executed.catch(() => dispatcher.workArrived());
    const outcome: ActionOutcome | ClaimOutcome = (await executed)?.outcome ?? { kind: "unknown" };
    if ("unblocked" in outcome && outcome.unblocked > 0) dispatcher.workArrived(outcome.unblocked);
    return outcome as Outcome;
  }

  /** Sanitizes the result of a client tool for storage. Results of other kinds have a fixed schema. */
  async #clean(sessionId: string, actionId: string, answer: ActionAnswer): Promise<ActionAnswer> {
    const { result } = answer;
    if (!isActionResult("client_tool", result) || !isJsonObject(result)) return answer;
    const { store, results } = this.#options;
    const caller = await store.actions.callerOf(sessionId, actionId);
    return caller === null ? answer : { ...answer, result: await results.cleanResult(caller, result) };
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
      // The outcome of a failed commit is unknown: memory may lack it, and its turns may be unannounced.
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
    const unblocked = expired.reduce((sum, { outcome }) => sum + outcome.unblocked, 0);
    if (unblocked > 0) dispatcher.workArrived(unblocked);
    return expired.length;
  }
}

function refusal(
  outcome: Exclude<ActionOutcome | ClaimOutcome, { kind: "decided" | "claimed" }>,
): ServiceError {
  switch (outcome.kind) {
    case "unknown":
      return new NotFound(
        "action_not_found",
        "This session has no action with this id. `pending_actions` of its snapshot lists the pending ones.",
      );
    case "invalid":
      return new InvalidRequest(
        "action_result_invalid",
        `The body field "result" must be ${outcome.expected}.`,
      );
    case "decided_otherwise":
      return new Conflict(
        "action_decided",
        "This action already has a different decision, which cannot be changed.",
      );
    case "cancelled":
      return new Conflict(
        "action_cancelled",
        "The answer that requested this decision was stopped. Send a message to continue.",
      );
    case "not_claimable":
      return new InvalidRequest(
        "action_not_claimable",
        "Only an action of the kind `client_tool` can be claimed. Decide this one without a claim.",
      );
    case "claimed_otherwise":
      return new Conflict(
        "action_claimed",
        "Another client has claimed this action, and only that client may decide it until its claim expires. Wait for the result.",
      );
    case "not_claimed":
      return new Conflict(
        "action_not_claimed",
        "You have no valid claim of this action. Claim it, run the call, and send the claim with the result.",
      );
    case "expired":
      return new ServiceError(
        410,
        "action_expired",
        "The action expired, or the client that had claimed it did not report back. Ask the assistant to try again.",
      );
  }
}
