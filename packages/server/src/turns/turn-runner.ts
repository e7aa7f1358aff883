// Runs acquired turns, each with its own journal.

import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { StartedTurn, TokenUsage, TurnFailure } from "../core/turn.ts";
import type { TurnJournal } from "./journal.ts";
import { runTurn, type RunEnd, type RunOptions } from "./run.ts";

/**
 * Failure of a waiting turn whose App was removed from the configuration, and with it its model and tools.
 */
const APP_GONE: TurnFailure = {
  code: "app_gone",
  message:
    "This assistant is no longer offered, so your message cannot be answered. Start a new conversation.",
};

export interface TurnRunnerOptions extends Omit<RunOptions, "instructions" | "signal" | "onFailure"> {
  readonly apps: AppCatalog;
  /** Opens a turn's journal; the session is in memory when it resolves. */
  readonly openJournal: (turn: StartedTurn, signal: AbortSignal) => Promise<TurnJournal & { close(): void }>;
  readonly onEnd: (end: RunEnd) => void;
  readonly logger: Logger;
  readonly onUsage: (usage: TokenUsage) => void;
}

export function createTurnRunner(
  options: TurnRunnerOptions,
): (turn: StartedTurn, signal: AbortSignal) => Promise<void> {
  return async (turn, signal) => {
    const journal = await options.openJournal(turn, signal);
    try {
      const app = options.apps.get(turn.app);
      if (app === null) {
        options.onEnd((await journal.fail(APP_GONE)) ? "failed" : "stopped");
        return;
      }
      const { instructions } = app;
      const onFailure = (failed: StartedTurn, code: string, error: unknown): void =>
        options.logger.warn(describeFailure(failed, code, error), "a turn failed");
      options.onEnd(await runTurn(turn, journal, { ...options, instructions, signal, onFailure }));
    } finally {
      journal.close();
    }
  };
}

/**
 * Returns log fields with the error's name and status, never its message, which may quote the conversation.
 */
function describeFailure({ sessionId, turn, model }: StartedTurn, code: string, error: unknown): object {
  const { statusCode: status } = Object(error) as { readonly statusCode?: unknown };
  return {
    code,
    rig: model,
    session: sessionId.slice(0, 8),
    turn,
    ...(error instanceof Error && { error: error.name }),
    ...(typeof status === "number" && { status }),
  };
}
