import { createHash } from "node:crypto";
import type { StartedTurn } from "../core/turn.ts";

/**
 * What a call goes by outside of its session: the same when it is run again after a crash, and no other call's anywhere. A model's own id
 * is neither long nor random (some count from 0 in every answer), so a server that is given it as an idempotency key would hand one
 * person the result of another. Hexadecimal, so that it fits into a header whatever the model called it.
 */
export function callKey(turn: Pick<StartedTurn, "sessionId" | "life" | "turn">, id: string): string {
  const parts = [turn.sessionId, turn.life, turn.turn, id];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
