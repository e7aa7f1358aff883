import type { OpenTurn } from "../turn.ts";
import { define, type PartialText, dispositionOf } from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import { interruptTurn } from "./turns.ts";

export interface InterruptInput {
  readonly streamed: PartialText | null;
  /** Number of a turn: if it is not the oldest open one, nothing changes. Absent for any. */
  readonly turn?: number | undefined;
}

/** Ends the running turn and the queued ones. Idempotent. */
export const interrupt = define({
  target: "session",
  needs: (_input: InterruptInput) => ({
    openTurns: true,
    checkpointed: true,
    epochs: 1,
  }),
  decide: (draft, facts, { streamed, turn: wanted }) => {
    const openTurns = facts.openTurns();
    const first = openTurns[0]?.turn.number;
    if (first !== undefined && first === (wanted ?? first))
      interruptOpenTurns(draft, openTurns, [streamed, facts.checkpointed()]);
    return "ok" as const;
  },
  disposition: dispositionOf,
});

/**
 * Ends every open turn, and raises the epoch so that the turn's process can no longer write. The running turn
 * gets the first of `texts` that belongs to it, or else the text of its finished steps.
 */
export function interruptOpenTurns(
  draft: SessionDraft,
  openTurns: readonly OpenTurn[],
  texts: readonly (PartialText | null)[],
): void {
  draft.raiseEpoch();
  draft.lease = { kind: "released" };
  for (const open of openTurns) {
    const { turn, agentMessage } = open;
    const own = texts.find((text) => text?.messageId === agentMessage?.id && text?.epoch === turn.epoch);
    interruptTurn(draft, open, own?.text ?? agentMessage?.content ?? "");
  }
  draft.addSystemEvent("interrupted", { turns: openTurns.length });
  draft.moveStatus("interrupt");
}
