// Actions that wait for a person, in the store. One method is one transaction. They are asked with `TurnStore.stepWithCalls`.

import type { ActionRecord } from "../../action.ts";
import type { ActionAnswer, ActionOutcome } from "../../commands/resolve-action.ts";
import type { Expired } from "../../commands/expire-actions.ts";
import type { Committed } from "./session-store.ts";

export interface ActionStore {
  /** The session's actions that are pending and its last `limit` others, oldest first; `null` when there is no such session. */
  list(sessionId: string, limit: number): Promise<readonly ActionRecord[] | null>;
  /** A person decides, unless the session counts as none of `apps`. `null` when there is no such session. */
  decide(
    sessionId: string,
    actionId: string,
    answer: ActionAnswer,
    apps?: readonly string[],
  ): Promise<Committed<ActionOutcome | "other_app"> | null>;
  /** Whether an action is pending beyond its time. */
  isAnyDue(): Promise<boolean>;
  /** Everything counts as denied that is pending beyond its time, of up to `limit` sessions, the longest due first. */
  expire(limit: number): Promise<readonly Committed<Expired>[]>;
}
