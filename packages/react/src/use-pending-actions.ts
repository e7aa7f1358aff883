import type { Action, Decision, PendingAction } from "@colloquy/client";
import { useMemo } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";
import { useSessionPart } from "./use-session.ts";

export interface PendingActions {
  /** Actions without a decision, oldest first. */
  readonly actions: readonly PendingAction[];
  /**
   * `result` is required by some kinds of action: `{ transaction_hash }`, `{ signature }` or `{ answer }`.
   * Calls of client tools are run by `useClientTool`; a person can only deny them.
   */
  readonly approve: (
    actionId: string,
    result?: Exclude<Extract<Decision, { decision: "approve" }>, { claim: string }>["result"],
  ) => Promise<Action>;
  readonly deny: (actionId: string) => Promise<Action>;
  /** Answers a question. */
  readonly answer: (actionId: string, text: string) => Promise<Action>;
}

const NONE: readonly PendingAction[] = [];

/**
 * Returns the session's pending actions and functions to decide them. An action leaves the list once decided,
 * here or elsewhere.
 */
export function usePendingActions(id: string): PendingActions {
  const { pool } = useColloquyContext();
  const actions = useSessionPart(
    id,
    (pool, id) => pool.session(id).getSnapshot()?.pending_actions ?? NONE,
    NONE,
  );
  return useMemo(() => {
    const decide = (actionId: string, decision: Decision): Promise<Action> =>
      pool.session(id).resolve(actionId, decision);
    return {
      actions,
      approve: (actionId, result = null) => decide(actionId, { decision: "approve", result }),
      deny: (actionId) => decide(actionId, { decision: "deny" }),
      answer: (actionId, text) => decide(actionId, { decision: "approve", result: { answer: text } }),
    };
  }, [actions, pool, id]);
}
