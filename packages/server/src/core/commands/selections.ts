// Commands for sessions that the store selects: each candidate is decided by a command of its own.

import type { StartedTurn } from "../turn.ts";
import type { ClaimTurnInput } from "./claim-turn.ts";
import type { Expired } from "./expire-actions.ts";
import type { SessionCommand } from "./index.ts";

/**
 * Starts up to `agentMessageIds.length` runnable turns, the longest waiting first, except those on a full provider (the part of a rig before
 * `/`). A turn whose attempts are used up fails instead, and its outcome is `null`. Fewer answers than ids: no other turn was runnable, or
 * another transaction held its session, so that a later claim gets it; behind a turn that failed, the next one is runnable now.
 */
export interface ClaimTurns extends Pick<ClaimTurnInput, "owner" | "fullProviders" | "models"> {
  readonly kind: "claimTurns";
  readonly agentMessageIds: readonly string[];
}

/** Denies all actions that are due, of up to `limit` sessions, the longest due first. */
export interface ExpireActions {
  readonly kind: "expireActions";
  readonly limit: number;
}

export type Selection = ClaimTurns | ExpireActions;

export type SelectedOutcome<S extends Selection> = S extends ClaimTurns ? StartedTurn | null : Expired;

/** Returns the command that claims the turn with this number; each claim uses an agent message id of its own. */
export function claimCommand(
  { owner, fullProviders, models }: ClaimTurns,
  session: string,
  turn: number,
  agentMessageId: string,
): SessionCommand {
  const input = { turn, owner, agentMessageId, fullProviders, models };
  return { kind: "claimTurn", target: existing(session), input };
}

export function expireCommand(session: string): SessionCommand {
  return { kind: "expireActions", target: existing(session), input: null };
}

function existing(session: string) {
  return { session, birth: null, load: false };
}
