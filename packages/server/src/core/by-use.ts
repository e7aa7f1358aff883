import type { UsePlace } from "./ports/driven/admin-store.ts";

/** Orders sessions by their last use, newest first, and of the same moment the youngest first. */
export function byUse(left: UsePlace, right: UsePlace): number {
  return right.usedAt - left.usedAt || right.key - left.key;
}
