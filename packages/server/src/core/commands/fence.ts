// Fencing: a turn writes only under the session's current epoch and while its lease holds.

import type { SessionRecord } from "../session.ts";
import type { Lease, OpenTurn, TurnIdentity } from "../turn.ts";
import type { WritingTurn } from "./command.ts";

/**
 * Returns the open turn that may write; `null` if it was interrupted, deleted or taken over, or if its `lease` has run out `at` this moment,
 * on the store's clock: another process may then take the turn, so its owner must have stopped.
 */
export function turnThatWrites(
  session: Pick<SessionRecord, "key" | "epoch">,
  openTurns: readonly OpenTurn[],
  identity: TurnIdentity,
  { lease, at }: { readonly lease: Lease | null; readonly at: number },
): WritingTurn | null {
  return lease === null || lease.expiresAt <= at ? null : turnThatRuns(session, openTurns, identity);
}

/** Returns the open turn that runs under this identity; `null` if it was interrupted, deleted or taken over. */
export function turnThatRuns(
  session: Pick<SessionRecord, "key" | "epoch">,
  openTurns: readonly OpenTurn[],
  identity: TurnIdentity,
): WritingTurn | null {
  if (session.key !== identity.sessionKey || session.epoch !== identity.epoch) return null;
  const open = openTurns.find(({ turn }) => turn.number === identity.turn && turn.state === "running");
  return open === undefined || open.agentMessage === null
    ? null
    : { ...open, agentMessage: open.agentMessage };
}
