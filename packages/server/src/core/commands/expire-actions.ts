import type { OpenTurn } from "../turn.ts";
import { resumeIfDecided, isDue, outcomeOf, withMessage } from "./asking.ts";
import { define } from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import { recordResults } from "./tool-calls.ts";

export interface Expired {
  /** Number of turns that no longer wait for a person: the action's turn and those queued behind it. */
  readonly arrived: number;
}

/** Expires every due action of the session. */
export const expireActions = define({
  target: "session",
  needs: (_input: null) => ({ openTurns: true }),
  decide: (draft, facts): Expired | "skipped" => {
    const openTurns = facts.openTurns();
    const isAnyDue = openTurns.some(({ actions }) => actions.some((action) => isDue(action, draft.at)));
    return isAnyDue ? { arrived: expireDue(draft, openTurns) } : "skipped";
  },
  disposition: (outcome) => (outcome === "skipped" ? "void" : "commit"),
});

/** Expires due actions. Returns `arrived`. */
export function expireDue(draft: SessionDraft, openTurns: readonly OpenTurn[]): number {
  let arrived = 0;
  for (const open of openTurns) {
    const due = open.actions.filter((action) => isDue(action, draft.at));
    if (due.length === 0) continue;
    const turn = withMessage(open);
    const outcomes = due.map((action) => outcomeOf(draft, draft.resolveAction(action, "expired", null)));
    const agentMessage = recordResults(draft, turn, outcomes);
    const actions = open.actions.filter((action) => !isDue(action, draft.at));
    arrived += resumeIfDecided(draft, { ...turn, agentMessage, actions }, openTurns);
  }
  return arrived;
}
