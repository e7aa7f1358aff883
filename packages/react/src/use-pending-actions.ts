import type { Action, Decision, PendingAction } from "@colloquy/client";
import { useMemo } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";
import { useSessionPart } from "./use-session.ts";

export interface PendingActions {
  /** What the assistant asks and nobody has decided yet, oldest first. */
  readonly actions: readonly PendingAction[];
  /** With `result` where the action's kind needs one: `{ transaction_hash }`, `{ signature }` or `{ answer }`. */
  readonly approve: (
    actionId: string,
    result?: Extract<Decision, { decision: "approve" }>["result"],
  ) => Promise<Action>;
  readonly deny: (actionId: string) => Promise<Action>;
  /** Answers a question. */
  readonly answer: (actionId: string, text: string) => Promise<Action>;
}

const NONE: readonly PendingAction[] = [];

/** What the assistant asks in this conversation, and how to decide it. An action goes from the list when it is decided, wherever that was. */
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
