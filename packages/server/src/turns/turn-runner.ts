// Runs the turns that this process has acquired, each with a journal of its own.

import type { AppCatalog } from "../core/ports/apps.ts";
import type { StartedTurn, TokenUsage } from "../core/turn.ts";
import type { TurnJournal } from "./journal.ts";
import { runTurn, type RunEnd, type RunOptions } from "./run.ts";

export interface TurnRunnerOptions extends Omit<RunOptions, "instructions" | "signal"> {
  readonly apps: AppCatalog;
  /** A journal for a turn; the session is in memory when this resolves. */
  readonly openJournal: (turn: StartedTurn, signal: AbortSignal) => Promise<TurnJournal & { close(): void }>;
  readonly onEnd: (end: RunEnd) => void;
  readonly onUsage: (usage: TokenUsage) => void;
}

export function createTurnRunner(
  options: TurnRunnerOptions,
): (turn: StartedTurn, signal: AbortSignal) => Promise<void> {
  return async (turn, signal) => {
    const journal = await options.openJournal(turn, signal);
    try {
      const instructions = options.apps.get(turn.app)?.instructions ?? null;
      options.onEnd(await runTurn(turn, journal, { ...options, instructions, signal }));
    } finally {
      journal.close();
    }
  };
}
