import type { PendingAction } from "./wire.ts";

/** Returns true unless only approvers may decide the action. */
export function mayUserDecide(action: PendingAction): boolean {
  return action.kind !== "approval" || action.approvers !== "only";
}
