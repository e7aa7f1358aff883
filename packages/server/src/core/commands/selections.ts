// Commands that run once for each session that the store selects.

import type { StartedTurn } from "../turn.ts";
import type { ClaimTurnInput } from "./claim-turn.ts";
import type { Unblocking } from "./asking.ts";
import type { SessionCommand } from "./index.ts";

/**
 * Starts up to `agentMessageIds.length` runnable turns, except those of a full provider. Turns that have
 * waited longest come first. Fewer results than ids mean that no other turn was runnable, or that its session
 * was locked. After a turn that failed (`null`), the next one is runnable.
 */
export interface ClaimTurns extends Pick<ClaimTurnInput, "owner" | "fullProviders" | "models"> {
  readonly kind: "claimTurns";
  readonly agentMessageIds: readonly string[];
}

/** Expires all due actions of up to `limit` sessions. Actions that have been due longest come first. */
export interface ExpireActions {
  readonly kind: "expireActions";
  readonly limit: number;
}

export type Selection = ClaimTurns | ExpireActions;

export type SelectedOutcome<S extends Selection> = S extends ClaimTurns ? StartedTurn | null : Unblocking;

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
  return { session, birth: null, load: false, access: null };
}
