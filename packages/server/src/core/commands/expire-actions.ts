import { isOver } from "../action.ts";
import type { OpenTurn } from "../turn.ts";
import { resumeIfDecided, isDue, outcomeOf, type Unblocking, withMessage } from "./asking.ts";
import { define } from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import { recordResults } from "./call-results.ts";

/** Expires all due actions of up to `limit` sessions. The most overdue actions come first. */
export interface ExpireActions {
  readonly kind: "expireActions";
  readonly limit: number;
}

/** Expires the session's due actions, and ends expired claims of the others, so that another client may run their calls. */
export const expireActions = define({
  target: "session",
  needs: (_input: null) => ({ openTurns: true }),
  decide: (draft, facts): Unblocking | "skipped" => {
    const openTurns = facts.openTurns();
    const isAnyDue = openTurns.some(({ actions }) => actions.some((action) => isDue(action, draft.at)));
    return isAnyDue ? { unblocked: expireDue(draft, openTurns) } : "skipped";
  },
  disposition: (outcome) => (outcome === "skipped" ? "void" : "commit"),
});

export function expireCommand(session: string) {
  return {
    kind: "expireActions",
    target: { session, birth: null, load: false, access: null },
    input: null,
  } as const;
}

/** Expires due actions and ends expired claims. Returns `unblocked`. */
export function expireDue(draft: SessionDraft, openTurns: readonly OpenTurn[]): number {
  let unblocked = 0;
  for (const open of openTurns) {
    const over = open.actions.filter((action) => isOver(action, draft.at));
    const actions = open.actions
      .filter((action) => !isOver(action, draft.at))
      .map((action) => (isDue(action, draft.at) ? draft.claimAction(action, null) : action));
    if (over.length === 0) continue;
    const turn = withMessage(open);
    const outcomes = over.map((action) => {
      draft.resolveAction(action, "expired", null);
      return outcomeOf(draft, action, "expired", null);
    });
    const agentMessage = recordResults(draft, turn, outcomes);
    unblocked += resumeIfDecided(draft, { ...turn, agentMessage, actions }, openTurns);
  }
  return unblocked;
}
