import { type ActionRecord, hasExpiredClaim, isOver, isReminderDue } from "../action.ts";
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

/**
 * Expires the session's due actions. Of the others, ends expired claims, so that another client may run their
 * calls, and announces due reminders.
 */
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

/** Expires due actions, ends expired claims and announces due reminders. Returns `unblocked`. */
export function expireDue(draft: SessionDraft, openTurns: readonly OpenTurn[]): number {
  let unblocked = 0;
  for (const open of openTurns) {
    const over = open.actions.filter((action) => isOver(action, draft.at));
    const actions = open.actions
      .filter((action) => !isOver(action, draft.at))
      .map((action) => withoutDue(draft, action));
    if (over.length === 0) continue;
    const turn = withMessage(open);
    const outcomes = over.map((action) => {
      draft.resolveAction(action, "expired", null);
      return outcomeOf(draft, action, { status: "expired", by: null, result: null });
    });
    const agentMessage = recordResults(draft, turn, outcomes);
    unblocked += resumeIfDecided(draft, { ...turn, agentMessage, actions }, openTurns);
  }
  return unblocked;
}

function withoutDue(draft: SessionDraft, action: ActionRecord): ActionRecord {
  const unclaimed = hasExpiredClaim(action, draft.at) ? draft.claimAction(action, null) : action;
  return isReminderDue(unclaimed, draft.at) ? draft.remindOfAction(unclaimed) : unclaimed;
}
