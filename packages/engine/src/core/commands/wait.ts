import { markBehindWaiting } from "./asking.ts";
import { defineForTurn } from "./command.ts";
import { ranUnder } from "../turn.ts";

/**
 * Suspends the turn until its actions are resolved; if they already are, the turn is runnable at once. Resets
 * its attempts, because it did not crash, but not its running time.
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
    if (waits) markBehindWaiting(draft, open.turn, openTurns, { behindWaiting: true });
    return waits ? "waits" : "runnable";
  },
  { epochs: 1 },
);
