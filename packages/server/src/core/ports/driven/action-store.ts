import type { ActionRecord } from "../../action.ts";

/** Reads of actions. They are created by `stepWithCalls` and resolved by `resolveAction` and `expireActions`. */
export interface ActionStore {
  /** The session's actions that are pending and its last `limit` others, oldest first; `null` when there is no such session. */
  list(sessionId: string, limit: number): Promise<readonly ActionRecord[] | null>;
  /** Whether an action is pending beyond its time. */
  isAnyDue(): Promise<boolean>;
}
