// Titles, generated from a session's first message beside its turn. The job is in the store since the chat's own transaction, so that
// a crash costs a title some seconds, not for good.

import { TITLE_LEASE_MS } from "../core/decisions/settings.ts";
import type { AppCatalog } from "../core/ports/apps.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";
import type { JobStore, TitleJob } from "../core/ports/job-store.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { Registry } from "./registry.ts";
import { cleanTitle, plainTitle } from "./title-text.ts";

/** Then the plain fallback is the title. With it a title takes less than the time that a job belongs to one process. */
const MODEL_MS = 15_000;
const LOOK_EVERY_MS = 10_000;
const MAX_AT_ONCE = 8;
/** Jobs beyond this stay in the store until they are due again. */
const MAX_PENDING = 1_000;

export interface TitlesOptions {
  readonly jobs: JobStore;
  readonly registry: Registry;
  readonly apps: AppCatalog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Asks a utility model for a title; rejects when it fails or the signal is aborted. */
  readonly generate: (rig: string, message: string, signal: AbortSignal) => Promise<string>;
  /** A stable word for what `generate` rejected with: the error itself may hold the message and is never logged. */
  readonly failureCode: (error: unknown) => string;
}

export class Titles {
  readonly #options: TitlesOptions;
  /** With the time, monotonic, until which the job surely belongs to this process long enough for a title to be made. */
  readonly #pending: { readonly job: TitleJob; readonly until: number }[] = [];
  /** Lives whose title is pending or at work here: a job that falls due meanwhile must not be done twice. */
  readonly #lives = new Set<string>();
  readonly #timer: Timer;
  /** Of each title that is being made: aborted when that has taken long enough. */
  readonly #atWork = new Set<AbortController>();
  #stopped = false;

  constructor(options: TitlesOptions) {
    this.#options = options;
    this.#timer = options.clock.every(LOOK_EVERY_MS, () => void this.lookForDue());
  }

  /** Takes a job that a chat of this process has just created. */
  start(job: TitleJob): void {
    if (this.#stopped || this.#pending.length >= MAX_PENDING || this.#lives.has(lifeOf(job))) return;
    this.#lives.add(lifeOf(job));
    this.#pending.push({ job, until: this.#options.clock.monotonic() + TITLE_LEASE_MS - MODEL_MS });
    this.#work();
  }

  /** Takes jobs that nobody has finished in time, after a crash for example. */
  async lookForDue(): Promise<void> {
    if (this.#stopped || this.#pending.length > 0) return;
    try {
      for (const job of await this.#options.jobs.claimTitles(MAX_AT_ONCE, TITLE_LEASE_MS)) this.start(job);
    } catch (error) {
      this.#options.logger.warn({ err: error }, "titles that are due could not be looked for");
    }
  }

  /** Begins no more titles and generates none to its end; those that are not finished stay owed. */
  stop(): void {
    this.#stopped = true;
    this.#timer.stop();
    for (const enough of this.#atWork) enough.abort(new Error("The service stops"));
  }

  #work(): void {
    while (this.#atWork.size < MAX_AT_ONCE && !this.#stopped) {
      const next = this.#pending.shift();
      if (next === undefined) return;
      const { job } = next;
      if (this.#options.clock.monotonic() > next.until) {
        // Another process may have taken it: it stays owed, to whoever takes it next.
        this.#lives.delete(lifeOf(job));
        continue;
      }
      const enough = new AbortController();
      this.#atWork.add(enough);
      void this.#finish(job, enough).finally(() => {
        this.#atWork.delete(enough);
        this.#lives.delete(lifeOf(job));
        this.#work();
      });
    }
  }

  async #finish(job: TitleJob, enough: AbortController): Promise<void> {
    try {
      const title = await this.#title(job, enough);
      // The fallback is for a model that gives none, not for one that was not let.
      if (this.#stopped) return;
      const { jobs, registry } = this.#options;
      const { sessionId, life } = job;
      const committed = await registry.orReload(sessionId, jobs.finishTitle(sessionId, life, title));
      if (committed !== null) registry.settle(committed);
    } catch (error) {
      this.#options.logger.warn({ err: error }, "a title was not stored; it will be tried again");
    }
  }

  /** The demo model has nothing to add to the message: the plain fallback is its title (contract section 4). */
  async #title(job: TitleJob, enough: AbortController): Promise<string> {
    const app = this.#options.apps.get(job.app);
    // What was said to an App that is gone goes to no model of another one.
    if (app === null) return plainTitle(job.text);
    const { utilityModel: chosen } = job;
    const rig = chosen !== null && app.models.includes(chosen) ? chosen : app.utilityModel;
    if (rig.startsWith("demo/")) return plainTitle(job.text);
    const timer = this.#options.clock.after(MODEL_MS, () =>
      enough.abort(new Error("The model took too long")),
    );
    try {
      return cleanTitle(await this.#options.generate(rig, job.text, enough.signal)) ?? plainTitle(job.text);
    } catch (error) {
      if (!this.#stopped) {
        this.#options.logger.info(
          { code: this.#options.failureCode(error), rig },
          "a title is made from the message, because the model gave none",
        );
      }
      return plainTitle(job.text);
    } finally {
      timer.stop();
    }
  }
}

function lifeOf({ sessionId, life }: TitleJob): string {
  return `${sessionId} ${life}`;
}
