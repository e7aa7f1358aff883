import { countsAs } from "../session.ts";
import type { OpenTurn } from "../turn.ts";
import type { SessionDraft } from "./draft.ts";
import { interruptTurn } from "./turns.ts";

/** The whole text of a running turn's agent message, committed or not, as the process that streams it has it. */
export interface PartialText {
  readonly turn: number;
  readonly epoch: number;
  readonly text: string;
}

/**
 * Stops what runs and drops what waits; on a session that does not work it changes nothing (idempotent). Unless `ok`, the draft is void.
 * `apps` as `countsAs` has them.
 */
export function decideInterrupt(
  draft: SessionDraft,
  openTurns: readonly OpenTurn[],
  texts: readonly (PartialText | null)[],
  apps?: readonly string[],
): "ok" | "other_app" {
  if (!countsAs(draft.session, apps)) return "other_app";
  if (openTurns.length > 0) interruptOpenTurns(draft, openTurns, texts);
  return "ok";
}

/**
 * Seals every open turn. The epoch is raised before anything else is written, so that whoever still runs the turn
 * can write nothing after this. The running turn keeps the first of `texts` that is its own: what the process that streams
 * it has, else what was checkpointed, else the text of its finished steps.
 */
export function interruptOpenTurns(
  draft: SessionDraft,
  openTurns: readonly OpenTurn[],
  texts: readonly (PartialText | null)[],
): void {
  draft.raiseEpoch();
  draft.lease = { kind: "released" };
  for (const { turn, ...messages } of openTurns) {
    const own = texts.find((text) => text !== null && text.turn === turn.number && text.epoch === turn.epoch);
    interruptTurn(draft, { turn, ...messages }, own?.text ?? messages.agentMessage?.content ?? "");
  }
  draft.addSystemEvent("interrupted", { turns: openTurns.length });
  draft.moveStatus("interrupt");
}
