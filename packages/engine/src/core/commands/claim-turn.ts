import { providerOf, type StartedTurn } from "../turn.ts";
import { appOf } from "../session.ts";
import { availableModel, useAvailableModel, advanceQueue, startTurn } from "./turns.ts";
import { define } from "./command.ts";

export interface ClaimTurnInput {
  /** Number of the turn. */
  readonly turn: number;
  readonly owner: string;
  readonly agentMessageId: string;
  readonly fullProviders: readonly string[];
  /**
   * Current models of each App, its default first. The session's rig may have been removed in the meantime.
   */
  readonly models: Readonly<Record<string, readonly string[]>>;
}

/**
 * Starts up to `agentMessageIds.length` runnable turns, except those of a full provider. Turns that have
 * waited longest come first. Fewer results than ids mean that no other turn was runnable, or that its session
 * was locked. After a turn that failed (`null`), the next one is runnable.
 */
export interface ClaimTurns extends Pick<ClaimTurnInput, "owner" | "fullProviders" | "models"> {
  readonly kind: "claimTurns";
  readonly agentMessageIds: readonly string[];
}

/**
 * Starts a runnable turn, or fails it after too many attempts (`null`). Skips a turn that is no longer
 * runnable or whose provider is full.
 */
export const claimTurn = define({
  target: "session",
  needs: (_input: ClaimTurnInput) => ({ openTurns: true, epochs: 1 }),
  decide: (draft, facts, input): StartedTurn | null | "skipped" => {
    const openTurns = facts.openTurns();
    const open = openTurns.find(({ turn }) => turn.number === input.turn && turn.runnable);
    if (open === undefined) return "skipped";
    const models = input.models[appOf(draft.session)] ?? [];
    // The App's default may replace the session's rig, and its provider may be full.
    if (input.fullProviders.includes(providerOf(availableModel(draft.session, models)))) return "skipped";
    useAvailableModel(draft, models);
    const started = startTurn(draft, open, input, openTurns);
    if (started === null) advanceQueue(draft, open.turn, openTurns);
    return started;
  },
  disposition: (outcome) => (outcome === "skipped" ? "void" : "commit"),
});

export function claimCommand(
  { owner, fullProviders, models }: ClaimTurns,
  session: string,
  turn: number,
  agentMessageId: string,
) {
  const target = { session, birth: null, load: false, access: null };
  return {
    kind: "claimTurn",
    target,
    input: { turn, owner, agentMessageId, fullProviders, models },
  } as const;
}
