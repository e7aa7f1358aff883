import { providerOf } from "../turn.ts";
import { appOf } from "../session.ts";
import type { StartedTurn } from "../turn.ts";
import { availableModel, useAvailableModel } from "./available-model.ts";
import { define } from "./command.ts";
import { moveOn, startTurn } from "./turns.ts";

export interface ClaimTurnInput {
  /** Number of the turn. */
  readonly turn: number;
  readonly owner: string;
  readonly agentMessageId: string;
  /** Providers with as many running turns as they may have. */
  readonly fullProviders: readonly string[];
  /** The models of each App, its default first: the session's may have left the configuration while the turn waited. */
  readonly models: Readonly<Record<string, readonly string[]>>;
}

/**
 * Starts a runnable turn. One whose attempts are used up fails instead (`null`), and the session moves on. A turn that is no longer runnable
 * under the lock, or whose provider is full, is skipped.
 */
export const claimTurn = define({
  target: "session",
  needs: (_input: ClaimTurnInput) => ({ openTurns: true, epochs: 1 }),
  decide: (draft, facts, input): StartedTurn | null | "skipped" => {
    const openTurns = facts.openTurns();
    const open = openTurns.find(({ turn }) => turn.number === input.turn && turn.runnable);
    if (open === undefined) return "skipped";
    const models = input.models[appOf(draft.session)] ?? [];
    // The default that replaces the session's rig may be on a full provider.
    if (input.fullProviders.includes(providerOf(availableModel(draft.session, models)))) return "skipped";
    useAvailableModel(draft, models);
    const started = startTurn(draft, open, input);
    if (started === null) moveOn(draft, open.turn, openTurns);
    return started;
  },
  disposition: (outcome) => (outcome === "skipped" ? "void" : "commit"),
});
