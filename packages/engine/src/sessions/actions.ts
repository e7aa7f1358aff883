// Lists and decides pending actions, sends reminders, and denies expired actions.

import { createHash, randomUUID } from "node:crypto";
import type { Action, ActionClaim, ApproverAction, PendingAction } from "@colloquy/protocol";
import type { Actor } from "../core/audit.ts";
import { toApproverAction, toPendingAction, toWireAction } from "../core/action.ts";
import type { ClaimOutcome } from "../core/commands/claim-action.ts";
import type { ActionAnswer, ActionOutcome, Approver } from "../core/commands/decide-action.ts";
import { isActionResult } from "@colloquy/protocol/action-results";
import { Conflict, InvalidRequest, NotFound, ServiceError } from "../core/errors.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { isJsonObject } from "../core/json.ts";
import type { ClientResults } from "../core/ports/driven/tool.ts";
import type { SessionAccess } from "../core/session-access.ts";
import type { ApprovalCursor, Store } from "../core/ports/driven/store.ts";
import type { ClaimRequest, NewSessionOptions } from "../core/ports/driving/services.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import { chatRejection } from "./chat-input.ts";
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

export class Actions {
  readonly #options: ActionsOptions & { readonly results: ClientResults };

  constructor(options: ActionsOptions & { readonly results: ClientResults }) {
    this.#options = options;
  }

  /** Returns the pending actions and the most recently decided ones, oldest first. Creates the session. */
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

  /** Returns the pending actions, oldest first; empty if the session does not exist. */
  async pending(sessionId: string): Promise<readonly PendingAction[]> {
    const actions = await this.#options.store.actions.list(sessionId, 0);
    return (actions ?? []).map(toPendingAction);
  }

  /**
   * Returns a page of the pending actions that an approver may decide, oldest first.
   * @throws InvalidRequest if the cursor is not from an earlier page
   */
  async forApprover({ owner, rules }: Approver, { cursor, limit }: ApproverListQuery): Promise<ApproverPage> {
    const { store } = this.#options;
    const after = cursor === null ? null : parseCursor(cursor);
    const found = await store.actions.forApprover({ rules, owner, after, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    return {
      actions: page.flatMap((action) => toApproverAction(action) ?? []),
      next: last === undefined ? null : formatCursor(last),
    };
  }

  /**
   * Decides an action of any conversation for an approver. The result contains no other data of the
   * conversation.
   * @throws NotFound if the approver may not decide it
   */
  async decideAsApprover(
    actionId: string,
    answer: ActionAnswer,
    approver: Approver,
    by: Actor,
  ): Promise<ApproverAction> {
    const found = await this.#options.store.actions.findForApprover(actionId);
    if (found === null) throw notForApprover();
    const outcome = await this.#awaitAndNotify(
      this.#options.registry.execute({
        kind: "decideAction",
        // The transaction checks the approver's rights instead.
        target: { session: found.sessionId, birth: null, load: false, access: null },
        input: { action: actionId, ...answer, by, decider: approver },
      }),
    );
    if (outcome.kind === "unknown") throw notForApprover();
    if (outcome.kind !== "decided") throw refusal(outcome);
    const decided = toApproverAction(outcome.action);
    if (decided === null) throw new Error(`The action ${actionId} has no approvers`);
    return decided;
  }

  /** Decides an action; `access` as in `Conversations`. */
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
        // Only operators decide without access to the session.
        input: {
          action: actionId,
          ...cleaned,
          by,
          decider: by !== null && access === null ? "operator" : "user",
        },
      }),
    );
    if (outcome.kind !== "decided") throw refusal(outcome);
    return toWireAction(outcome.action);
  }

  /** Claims an action of the kind `client_tool`, or renews the claim; `access` as in `Conversations`. */
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

interface ApproverListQuery {
  /** `next` of the previous page; `null` for the first page. */
  readonly cursor: string | null;
  readonly limit: number;
}

interface ApproverPage {
  readonly actions: readonly ApproverAction[];
  /** Cursor of the next page; `null` after the last one. */
  readonly next: string | null;
}

function notForApprover(): NotFound {
  return new NotFound(
    "action_not_found",
    "There is no action with this id that you may decide. List yours with `GET /api/actions?status=pending`.",
  );
}

function formatCursor({ createdAt, id }: ApprovalCursor): string {
  return `${createdAt.toString(36)}.${id}`;
}

function parseCursor(cursor: string): ApprovalCursor {
  const [, createdAt = "", id = ""] = /^([0-9a-z]{1,10})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (id === "")
    throw new InvalidRequest("invalid_cursor", "`cursor` must be from the `Link` header of an earlier page.");
  return { createdAt: Number.parseInt(createdAt, 36), id };
}

export interface ActionExpiryOptions extends ActionsOptions {
  readonly store: Pick<Store, "executeEach" | "actions">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Denies expired actions, so that their turns continue, and sends reminders. Checks on the store's clock, and
 * writes only if an action is due.
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
    case "approver_required":
      return new ServiceError(
        403,
        "approver_required",
        "Only an approver may decide this action. Wait for the decision, or ask an approver.",
      );
    case "own_request":
      return new ServiceError(
        403,
        "own_request",
        "You sent the message that caused this action. Another approver must decide it.",
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
    case "attachment_not_found":
    case "attachment_of_other_app":
      return chatRejection(outcome.kind);
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
