// One running turn with a scripted model and a journal that records its writes.

import { ManualClock } from "./manual-clock.ts";
import { ScriptedModel } from "./scripted-model.ts";
import type { ApprovalRule } from "../src/core/app-settings.ts";
import type { PastTurn } from "../src/core/ports/driven/store.ts";
import { NEVER_CHECKED, type SchemaCheck } from "../src/core/ports/driven/schema-check.ts";
import type { Tool } from "../src/core/ports/driven/tool.ts";
import type { StartedTurn, StepRecord, TokenUsage } from "../src/core/turn.ts";
import { createModelCatalog } from "../src/models/catalog.ts";
import { fixedTools } from "../src/tools/testing/fixed-tools.ts";
import { ModelCaller } from "../src/turns/model-step.ts";
import { type RunEnd, runTurn } from "../src/turns/run.ts";
import { RecordingJournal } from "../src/turns/testing/recording-journal.ts";
import { startedTurn } from "../src/turns/testing/started-turn.ts";
import { DEFAULT_LIMITS } from "../src/turns/testing/default-limits.ts";

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
