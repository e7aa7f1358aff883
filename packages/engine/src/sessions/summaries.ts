// Summarizes long histories with the utility model. The transaction that ends a turn stores the job, so that
// any node can run it, even after a crash. Turns never wait for a summary: until it exists, their prompts are
// truncated.

import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { ModelCatalog } from "../core/ports/driven/model.ts";
import type { Store, SummaryJob } from "../core/ports/driven/store.ts";
import { untilAborted } from "../core/waiting.ts";
import { historyBudget } from "../turns/history.ts";
import { planSummary, readSummary, type SummaryPlan } from "../turns/summary.ts";
import { SUMMARY_INSTRUCTIONS, type SummaryAnswer } from "../turns/utility-model.ts";
import type { SessionRegistry } from "./session-registry.ts";
import { utilityRigOf } from "./utility-rig.ts";

/**
 * Timeout of the model call in milliseconds. The rest of the lease is for reading the history and storing the
 * summary.
 */
const MODEL_MS = 120_000;
export const SUMMARY_LEASE_MS = 150_000;
const LOOK_EVERY_MS = 10_000;
/** Maximum concurrent model calls. */
const MAX_AT_ONCE = 4;
/**
 * Milliseconds between attempts. After the last attempt, the job is removed. The next turn that exceeds the
 * threshold stores another.
 */
const RETRY_MS = [60_000, 300_000, 1_800_000];
/** Multiple of the history's budget to read. Prompts have already omitted older turns. */
const READ_BUDGETS = 4;
const MAX_READ = 8 * 1024 * 1024;

/** Result of an attempt. `failed`: the model failed or timed out; the others are as in `readSummary`. */
export const SUMMARY_ENDS = ["kept", "larger", "empty", "cut", "failed"] as const;
export type SummaryEnd = (typeof SUMMARY_ENDS)[number];

export interface SummariesOptions {
  readonly store: Pick<Store, "jobs" | "turns">;
  readonly registry: Pick<SessionRegistry, "execute">;
  readonly apps: AppCatalog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly models: Pick<ModelCatalog, "contextWindow" | "promptRules" | "describeFailure"> & {
    isDemo(rig: string): boolean;
  };
  /**
   * Calls the utility model. Rejects with its error, which must not be logged because it may contain the
   * conversation.
   */
  readonly generate: (
    request: Pick<SummaryPlan, "transcript" | "maxWords"> & {
      readonly rig: string;
      readonly signal: AbortSignal;
    },
  ) => Promise<SummaryAnswer>;
  readonly metrics: {
    /** Counts an attempt, and the tokens that a stored summary saves in each prompt. */
    summaryEnded(end: SummaryEnd, savedTokens: number): void;
    tokensUsed(usage: SummaryAnswer["usage"]): void;
  };
}

export class Summaries {
  readonly #options: SummariesOptions;
  readonly #timer: Timer;
  readonly #stopping = new AbortController();
  #atWork = 0;
  /** True while jobs are being claimed. */
  #claiming = false;
  #mayBeMore = false;

  constructor(options: SummariesOptions) {
    this.#options = options;
    this.#timer = options.clock.every(LOOK_EVERY_MS, () => void this.lookForDue());
  }

  /** Claims due jobs and starts them. */
  async lookForDue(): Promise<void> {
    this.#mayBeMore = true;
    if (this.#claiming) return;
    this.#claiming = true;
    try {
      while (this.#mayBeMore && this.#atWork < MAX_AT_ONCE && !this.#stopping.signal.aborted) {
        this.#mayBeMore = false;
        const free = MAX_AT_ONCE - this.#atWork;
        for (const job of await this.#options.store.jobs.claimSummaries(free, SUMMARY_LEASE_MS))
          this.#start(job);
      }
    } catch (error) {
      this.#options.logger.warn({ err: error }, "could not claim summary jobs");
    } finally {
      this.#claiming = false;
    }
  }

  /** Starts no more summaries and cancels those in progress. Their jobs are retried after their leases expire. */
  stop(): void {
    this.#timer.stop();
    this.#stopping.abort(new Error("The service stops"));
  }

  #start(job: SummaryJob): void {
    this.#atWork += 1;
    void this.#run(job)
      .catch((error: unknown) => {
        if (!this.#stopping.signal.aborted)
          this.#options.logger.warn({ err: error }, "could not store a summary; retrying later");
      })
      .finally(() => {
        this.#atWork -= 1;
        void this.lookForDue();
      });
  }

  async #run(job: SummaryJob): Promise<void> {
    const { jobs } = this.#options.store;
    const end = await this.#summarize(job);
    if (this.#stopping.signal.aborted) return;
    if (end === "more") return await jobs.endSummary(job, { dueInMs: 0, attempts: 0 });
    const dueInMs = end === "done" ? undefined : RETRY_MS[job.attempts - 1];
    await jobs.endSummary(job, dueInMs === undefined ? null : { dueInMs, attempts: job.attempts });
  }

  /** Returns `more` if the summary was stored and further turns are to be summarized. */
  async #summarize(job: SummaryJob): Promise<"done" | "more" | "failed"> {
    const { apps, store, models, registry, metrics, logger } = this.#options;
    const app = apps.get(job.app);
    if (app === null || app.compaction !== "summary" || job.attempts > RETRY_MS.length + 1) return "done";
    const rig = utilityRigOf(app, job.utilityModel);
    if (models.isDemo(rig)) return "done";
    // The model may have changed since the job was stored.
    const budget = Math.min(
      job.budget,
      historyBudget(models.contextWindow(job.model), app.instructions ?? ""),
    );
    const read = Math.min(READ_BUDGETS * budget, MAX_READ);
    const turns = await store.turns.ended(job.sessionId, job.incarnation, read);
    const rules = models.promptRules(job.model);
    const inputBytes = historyBudget(models.contextWindow(rig), SUMMARY_INSTRUCTIONS);
    const plan =
      turns === null ? null : planSummary(turns, { rules, budget, inputBytes, attempt: job.attempts });
    if (plan === null) return "done";
    const answer = await this.#ask(rig, plan);
    if (answer === null) return "failed";
    metrics.tokensUsed(answer.usage);
    const summary = readSummary(answer, plan, rules);
    if (summary.kind !== "kept") {
      metrics.summaryEnded(summary.kind, 0);
      logger.info({ code: summary.kind, rig }, "the model gave no usable summary; prompts are cut");
      return "failed";
    }
    const { kind: _, ...kept } = summary;
    const target = { session: job.sessionId, incarnation: job.incarnation };
    const input = { messageId: plan.messageId, summary: kept };
    const applied = await registry.execute({ kind: "keepSummary", target, input });
    if (applied?.outcome !== "ok") return "done";
    metrics.summaryEnded("kept", kept.tokensBefore - kept.tokensAfter);
    return plan.hasMore ? "more" : "done";
  }

  /** Returns `null` if the model fails or times out. */
  async #ask(rig: string, { transcript, maxWords }: SummaryPlan): Promise<SummaryAnswer | null> {
    const { clock, generate, metrics, logger, models } = this.#options;
    const late = new AbortController();
    const timer = clock.after(MODEL_MS, () => late.abort(new Error("The model took too long")));
    const signal = AbortSignal.any([late.signal, this.#stopping.signal]);
    try {
      return await untilAborted(generate({ rig, transcript, maxWords, signal }), signal);
    } catch (error) {
      if (!this.#stopping.signal.aborted) {
        metrics.summaryEnded("failed", 0);
        const code = late.signal.aborted ? "too_late" : models.describeFailure(error).code;
        logger.info({ code, rig }, "the model gave no usable summary; prompts are cut");
      }
      return null;
    } finally {
      timer.stop();
    }
  }
}
