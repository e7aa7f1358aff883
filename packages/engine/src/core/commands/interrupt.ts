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
 * Ends every open turn, and raises the epoch to fence out the process that runs one. The running turn keeps its longest
 * known text: that of its finished steps, or one of `texts` with its message and epoch. Clients may have received any.
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
    const own = texts.flatMap((text) =>
      text !== null && text.messageId === agentMessage?.id && text.epoch === turn.epoch ? [text.text] : [],
    );
    interruptTurn(draft, open, longestOf([agentMessage?.content ?? "", ...own]));
  }
  draft.addSystemEvent("interrupted", { turns: openTurns.length });
  draft.moveStatus("interrupt");
}

function longestOf(texts: readonly string[]): string {
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest));
}
