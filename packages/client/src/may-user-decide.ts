import { mayUserDecide as isForUser } from "@colloquy/protocol/may-user-decide";
import type { PendingAction } from "./wire.ts";

/** Returns true unless only approvers may decide the action. */
export function mayUserDecide(action: PendingAction): boolean {
  return isForUser(action);
}
