// Runs commands for both stores: determines the facts that they read, and lets them decide on a draft.

import { SERVICE_ACTOR } from "../audit.ts";
import { hiddenFrom, losesOwner, mayBind, newOwnerOf, provedWallets } from "../session-access.ts";
import { appOf } from "../session.ts";
import type { SessionBirth } from "../session.ts";
import {
  mayWrite,
  turnThatRuns,
  type Definition,
  type Disposition,
  type Needs,
  type StoredFacts,
  type Targets,
} from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import { type CommandKind, DEFINITIONS, type SessionCommand } from "./index.ts";

/** Returns the definition of a command. Callers know its types by the command's kind. */
function definitionOf(kind: CommandKind): Definition<keyof Targets, unknown, Needs, unknown> {
  return DEFINITIONS[kind] as Definition<keyof Targets, unknown, Needs, unknown>;
}

/** The result of a command's `decide`. A person's decision is an `ActionAnswer`. */
export interface Decision {
  readonly outcome: unknown;
  readonly disposition: Disposition;
}

/** Returns the id of the session that a command changes. */
export function sessionOf({ target }: SessionCommand): string {
  return "turn" in target ? target.turn.sessionId : target.session;
}

/** Returns the initial values of a session that the command may create, `null` if it must exist. */
export function birthOf({ target }: SessionCommand): SessionBirth | null {
  return "birth" in target ? target.birth : null;
}

/** Returns true if the command returns the whole session. */
export function loadsSession({ target }: SessionCommand): boolean {
  return "load" in target && target.load;
}

/** Returns the facts that a command and its answer need. */
export function needsOf(command: SessionCommand): Needs {
  const needs = definitionOf(command.kind).needs(command.input);
  return loadsSession(command) ? { ...needs, snapshot: true } : needs;
}

/**
 * Decides a command on a draft. Returns `null` if its turn may no longer write or its
 * incarnation has ended. A lease that expires at or before `leasesAt` (milliseconds on the store's clock) no
 * longer permits writes.
 */
export function decideCommand(
  { kind, target, input }: SessionCommand,
  draft: SessionDraft,
  facts: StoredFacts,
  leasesAt: number,
): Decision | null {
  const { decide, disposition } = definitionOf(kind);
  const decided = (context: Parameters<typeof decide>[1]): Decision => {
    const outcome = decide(draft, context, input);
    return { outcome, disposition: disposition(outcome) };
  };
  if ("turn" in target) {
    const lease = facts.lease();
    if (!mayWrite(draft.session, target.turn, lease, leasesAt)) return null;
    const openTurns = facts.openTurns();
    const turn = turnThatRuns(draft.session, openTurns, target.turn);
    return turn === null ? null : decided({ turn, openTurns, lease });
  }
  if ("incarnation" in target && target.incarnation !== draft.session.incarnation) return null;
  if ("access" in target && target.access !== null) {
    const hidden = hiddenFrom(draft.session, target.access);
    if (hidden !== null) return { outcome: hidden, disposition: "hidden" };
    const owner = newOwnerOf(draft.session, target.access);
    if (owner !== null) draft.changeOwner(owner);
    const before = draft.session;
    const decision = decided(facts);
    if (decision.disposition !== "commit") return decision;
    if (!mayBind(before, draft.session, target.access))
      return { outcome: "wallet_not_proved", disposition: "hidden" };
    draft.fixWallet(provedWallets(appOf(draft.session), target.access));
    if (losesOwner(before, draft.session, target.access)) {
      draft.changeOwner(null);
      draft.audit("session_transferred", SERVICE_ACTOR, { to: null });
    }
    return decision;
  }
  return decided(facts);
}
