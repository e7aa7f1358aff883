// The part of a command's execution that both stores share: checks of its target, the decision, and what happens to the draft.

import { countsAs } from "../session.ts";
import type { Needs, StoredFacts } from "./command.ts";
import type { Disposition } from "./disposition.ts";
import type { SessionDraft } from "./draft.ts";
import { turnThatWrites } from "./fence.ts";
import { definitionOf, type SessionCommand } from "./index.ts";

export interface Decision {
  readonly outcome: unknown;
  readonly disposition: Disposition;
}

/** Returns the id of the session that a command changes. */
export function sessionOf({ target }: SessionCommand): string {
  return "turn" in target ? target.turn.sessionId : target.session;
}

/** Returns the facts that a command needs, those for its answer included. */
export function needsOf({ kind, target, input }: SessionCommand): Needs {
  const needs = definitionOf(kind).needs(input);
  return "load" in target && target.load ? { ...needs, snapshot: true } : needs;
}

/**
 * Decides a command on a draft of its session. Returns `null` if its turn may no longer write or its incarnation has ended. A lease must
 * outlast `leasesAt`, in milliseconds on the store's clock.
 */
export function decideCommand(
  { kind, target, input }: SessionCommand,
  draft: SessionDraft,
  facts: StoredFacts,
  leasesAt: number,
): Decision | null {
  const { decide, disposition } = definitionOf(kind);
  const decided = (given: Parameters<typeof decide>[1]): Decision => {
    const outcome = decide(draft, given, input);
    return { outcome, disposition: disposition(outcome) };
  };
  if ("turn" in target) {
    const [openTurns, lease] = [facts.openTurns(), facts.lease()];
    const turn = turnThatWrites(draft.session, openTurns, target.turn, { lease, at: leasesAt });
    return turn === null || lease === null ? null : decided({ turn, openTurns, lease });
  }
  if ("incarnation" in target && target.incarnation !== draft.session.life) return null;
  if ("apps" in target && !countsAs(draft.session, target.apps)) {
    return { outcome: "other_app", disposition: "hidden" };
  }
  return decided(facts);
}
