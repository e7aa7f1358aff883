import { moveQueue } from "./asking.ts";
import { defineForTurn } from "./command.ts";
import { ranUnder } from "./run-time.ts";

/**
 * Gives up the turn's slot and lease until all its actions are resolved. If they are already, the turn may be claimed at once. Its attempts
 * start at zero again, because it did not crash; the time that it ran keeps counting.
 */
export const wait = defineForTurn(
  (draft, { turn: open, openTurns, lease }, _input: null): "waits" | "runnable" => {
    const waits = open.actions.length > 0;
    draft.raiseEpoch();
    draft.lease = { kind: "released" };
    draft.changeTurn({
      ...open.turn,
      state: waits ? "waiting" : "running",
      runnable: !waits,
      attempts: 0,
      ranMs: open.turn.ranMs + ranUnder(lease, draft.at),
    });
    if (waits) moveQueue(draft, open.turn, openTurns, { behindWaiting: true });
    return waits ? "waits" : "runnable";
  },
  { epochs: 1 },
);
