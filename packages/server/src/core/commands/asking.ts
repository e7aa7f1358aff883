// How a turn asks a person: with the step that made the call, and then by giving up its place until it is answered.

import { actionNotice, toPendingAction, type AskedAction } from "../action.ts";
import type { ToolCallRecord } from "../message.ts";
import type { Lease, OpenTurn, TurnRecord } from "../turn.ts";
import type { SessionDraft } from "./draft.ts";
import { ranUnder } from "./run-time.ts";

/** Stores what calls of a step ask, and tells everybody. */
export function askPerson(
  draft: SessionDraft,
  turn: number,
  calls: readonly ToolCallRecord[],
  asked: readonly AskedAction[],
): void {
  for (const { id, callId, asked: request, validMs } of asked) {
    const tool = calls.find((call) => call.id === callId)?.name;
    if (tool === undefined)
      throw new Error(`An action asks about the call ${callId}, which its step does not make`);
    const action = draft.addAction({
      id,
      turn,
      callId,
      tool,
      asked: request,
      status: "pending",
      result: null,
      createdAt: draft.at,
      expiresAt: draft.at + validMs,
      resolvedAt: null,
    });
    draft.emit({
      type: "system_notice",
      message: actionNotice(toPendingAction(action)),
      level: "info",
      code: "action_requested",
    });
  }
}

/**
 * All that can run has run: the turn gives up its place and lease until nobody is asked any more. Where that is so already, it may be
 * claimed at once. Its attempts count from zero, because it did not crash; the time that it ran goes on counting. `lease` is the one that
 * it runs under.
 */
export function decideWait(
  draft: SessionDraft,
  open: OpenTurn,
  openTurns: readonly OpenTurn[],
  lease: Lease | null,
): "waits" | "runnable" {
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
}

/** Nobody is asked any more by a turn that waited: it may be claimed. Answers how many turns wait for the service that did not before. */
export function resumeTurn(draft: SessionDraft, turn: TurnRecord, openTurns: readonly OpenTurn[]): number {
  draft.changeTurn({ ...turn, state: "running", runnable: true });
  return 1 + moveQueue(draft, turn, openTurns, { behindWaiting: false });
}

/** What is queued stands behind a turn that waits for a person, or does so no more. Answers how many turns that are. */
function moveQueue(
  draft: SessionDraft,
  first: TurnRecord,
  openTurns: readonly OpenTurn[],
  place: Pick<TurnRecord, "behindWaiting">,
): number {
  const queued = openTurns.filter(({ turn }) => turn.number !== first.number);
  for (const { turn } of queued) draft.changeTurn({ ...turn, ...place });
  return queued.length;
}
