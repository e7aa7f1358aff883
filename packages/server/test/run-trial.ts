// One running turn with a scripted model and a journal that records its writes.

import { ManualClock } from "./manual-clock.ts";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import type { ApprovalRule } from "@colloquy/engine/internal/core/app-settings";
import type { PastTurn } from "@colloquy/engine/internal/core/ports/driven/store";
import { NEVER_CHECKED, type SchemaCheck } from "@colloquy/engine/internal/core/ports/driven/schema-check";
import type { Tool } from "@colloquy/engine/internal/core/ports/driven/tool";
import type { StartedTurn, StepRecord, TokenUsage } from "@colloquy/engine/internal/core/turn";
import { createModelCatalog } from "@colloquy/engine/internal/models/catalog";
import { fixedTools } from "@colloquy/engine/internal/tools/testing/fixed-tools";
import { ModelCaller } from "@colloquy/engine/internal/turns/model-step";
import { type RunEnd, runTurn } from "@colloquy/engine/internal/turns/run";
import { RecordingJournal } from "@colloquy/engine/internal/turns/testing/recording-journal";
import { startedTurn } from "@colloquy/engine/internal/turns/testing/started-turn";
import { DEFAULT_LIMITS } from "@colloquy/engine/internal/turns/testing/default-limits";

export interface RunTrial {
  readonly clock: ManualClock;
  readonly model: ScriptedModel;
  readonly journal: RecordingJournal;
  readonly controller: AbortController;
  readonly end: Promise<RunEnd>;
  readonly usage: TokenUsage[];
}

export interface RunTrialOptions {
  readonly turn?: Partial<StartedTurn>;
  readonly tools?: readonly Tool[];
  readonly before?: readonly PastTurn[];
  readonly steps?: readonly StepRecord[];
  readonly limits?: Partial<typeof DEFAULT_LIMITS>;
  readonly approvals?: Readonly<Record<string, ApprovalRule>>;
  readonly onWrite?: RecordingJournal["onWrite"];
  readonly mismatch?: SchemaCheck["mismatch"];
  readonly onOpen?: () => void;
}

/** Runs a turn with a scripted model until the test ends it. */
export function run(options: RunTrialOptions = {}): RunTrial {
  const clock = new ManualClock();
  const model = new ScriptedModel();
  const turn = startedTurn(options.turn);
  const journal = new RecordingJournal(turn, options.before, options.steps);
  if (options.onWrite !== undefined) journal.onWrite = options.onWrite;
  const controller = new AbortController();
  const usage: TokenUsage[] = [];
  const tools = fixedTools({ default: options.tools ?? [] }, { approvals: options.approvals ?? {} });
  const end = runTurn(turn, journal, {
    models: createModelCatalog({ providers: {}, clock, extraModels: { "test/scripted": model } }),
    caller: new ModelCaller(),
    tools: {
      open: (opening, signal) => {
        options.onOpen?.();
        return tools.open(opening, signal);
      },
    },
    schemas: {
      of: (app) => ({ ...NEVER_CHECKED.of(app), ...(options.mismatch && { mismatch: options.mismatch }) }),
    },
    clock,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    instructions: "Be brief.",
    onUsage: (used) => usage.push(used),
    onRefusedHistory: () => undefined,
    onFailure: () => undefined,
    signal: controller.signal,
  });
  end.catch(() => undefined);
  return { clock, model, journal, controller, end, usage };
}

/** Resolves when the condition holds, and fails if it never does. */
export async function until(condition: () => boolean): Promise<void> {
  for (let round = 0; round < 1_000 && !condition(); round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (!condition()) throw new Error("Condition never became true.");
}
