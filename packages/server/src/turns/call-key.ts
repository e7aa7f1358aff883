import { createHash } from "node:crypto";
import type { StartedTurn } from "../core/turn.ts";

/**
 * Returns a globally unique key of a call that stays the same when the call runs again after a crash. A
 * model's own id is neither long nor random (some count from 0 in every answer): as an idempotency key, it
 * could return one user the result of another. Hexadecimal, so that it is valid in a header.
 */
export function callKey(turn: Pick<StartedTurn, "sessionId" | "life" | "turn">, id: string): string {
  const parts = [turn.sessionId, turn.life, turn.turn, id];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
