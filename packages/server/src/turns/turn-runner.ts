// Runs acquired turns, each with its own journal.

import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { StartedTurn, TokenUsage, TurnFailure } from "../core/turn.ts";
import type { TurnJournals, WorkQueue } from "./journal.ts";
import { runTurn, type RunEnd, type RunOptions } from "./run.ts";

/**
 * Failure of a waiting turn whose App was removed from the configuration, and with it its model and tools.
 */
const APP_GONE: TurnFailure = {
  code: "app_gone",
  message:
    "This assistant is no longer offered, so your message cannot be answered. Start a new conversation.",
};

export interface TurnRunnerOptions
  extends Pick<RunOptions, "models" | "caller" | "tools" | "clock" | "limits"> {
  readonly apps: Pick<AppCatalog, "get">;
  readonly journals: TurnJournals;
  readonly hub: Pick<EventHub, "follow">;
  readonly logger: Logger;
  readonly metrics: { turnEnded(end: RunEnd): void; tokensUsed(usage: TokenUsage): void };
}

export class TurnRunner {
  readonly #options: TurnRunnerOptions;

  constructor(options: TurnRunnerOptions) {
    this.#options = options;
  }

  /** Runs a turn to its end; rejects on a defect. `queue` is told about turns that may be claimed next. */
  async run(turn: StartedTurn, signal: AbortSignal, queue: WorkQueue): Promise<void> {
    // The node that runs a turn receives the notifications of its session.
    const following = this.#options.hub.follow(turn.sessionId);
    try {
      await this.#run(turn, signal, queue);
    } finally {
      following.stop();
    }
  }

  async #run(turn: StartedTurn, signal: AbortSignal, queue: WorkQueue): Promise<void> {
    const { apps, journals, logger, metrics } = this.#options;
    const journal = await journals.open(turn, signal, queue);
    try {
      const app = apps.get(turn.app);
      if (app === null) {
        metrics.turnEnded((await journal.fail(APP_GONE)) ? "failed" : "stopped");
        return;
      }
      const { instructions } = app;
      const onUsage = (usage: TokenUsage): void => metrics.tokensUsed(usage);
      const onFailure = (failed: StartedTurn, code: string, error: unknown): void =>
        logger.warn(describeFailure(failed, code, error), "a turn failed");
      const end = await runTurn(turn, journal, {
        ...this.#options,
        instructions,
        signal,
        onUsage,
        onFailure,
      });
      metrics.turnEnded(end);
    } finally {
      journal.close();
    }
  }
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
