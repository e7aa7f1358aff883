// The use cases of pending actions: list them, decide one.

import type { Action } from "@colloquy/protocol";
import { toWireAction } from "../core/action.ts";
import type { ActionAnswer, ActionOutcome } from "../core/commands/resolve-action.ts";
import { Conflict, InvalidRequest, NotFound, ServiceError } from "../core/errors.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { ActionService, AdmitNewSession } from "../core/ports/driving/services.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import { otherApp } from "./other-app.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** Maximum decided actions in a list, beside the pending ones. */
const LISTED = 100;

export interface ActionsOptions {
  readonly store: Pick<Store, "execute" | "actions">;
  readonly registry: SessionRegistry;
  readonly dispatcher: Dispatcher;
}

export class Actions implements ActionService {
  readonly #options: ActionsOptions;

  constructor(options: ActionsOptions) {
    this.#options = options;
  }

  async list(sessionId: string, admit: AdmitNewSession): Promise<readonly Action[]> {
    const { store, registry } = this.#options;
    await registry.get(sessionId, admit);
    const actions = await store.actions.list(sessionId, LISTED);
    return (actions ?? []).map(toWireAction);
  }

  async decide(
    sessionId: string,
    actionId: string,
    answer: ActionAnswer,
    apps?: readonly string[],
  ): Promise<Action> {
    const { store, registry, dispatcher } = this.#options;
    const decision = registry.invalidateOnUnknownOutcome(
      sessionId,
      store.execute({
        kind: "resolveAction",
        target: { session: sessionId, birth: null, load: false, apps },
        input: { action: actionId, ...answer },
      }),
    );
    // It may have been stored: then its turn may be claimable.
    decision.catch(() => dispatcher.workArrived());
    const committed = await decision;
    if (committed === null) throw refusal({ kind: "unknown" });
    const { outcome } = registry.apply(committed);
    if (outcome === "other_app") throw otherApp(registry, sessionId, apps);
    if ("arrived" in outcome && outcome.arrived > 0) dispatcher.workArrived(outcome.arrived);
    if (outcome.kind !== "decided") throw refusal(outcome);
    return toWireAction(outcome.action);
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
        "The time to decide is over, and the action counts as denied. Ask the assistant to try again.",
      );
  }
}
