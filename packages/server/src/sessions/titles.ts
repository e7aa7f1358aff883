// Titles, generated from a session's first message beside its turn. The job is in the store since the chat's own transaction, so that
// a crash costs a title some seconds, not for good.

import { TITLE_LEASE_MS } from "../core/commands/finish-title.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { JobStore, TitleJob } from "../core/ports/driven/job-store.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SessionRegistry } from "./session-registry.ts";
import { cleanTitle, plainTitle } from "./title-text.ts";

/**
 * From the chat on, or from when a job was taken from the store: then the plain fallback is the title, whether the model takes long or could not
 * be asked yet because others keep it busy. What is left of the time that a job belongs to one process is for storing it.
 */
const MODEL_MS = 15_000;
const LOOK_EVERY_MS = 10_000;
/** Models that are asked, and plain titles that are stored, at the same time. */
const MAX_AT_ONCE = 8;
const CLAIM_AT_ONCE = 100;
/** Jobs beyond this stay in the store until they are due again. */
const MAX_PENDING = 1_000;

export interface TitlesOptions {
  readonly jobs: JobStore;
  readonly registry: SessionRegistry;
  readonly apps: AppCatalog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Asks a utility model for a title; rejects when it fails or the signal is aborted. */
  readonly generate: (rig: string, message: string, signal: AbortSignal) => Promise<string>;
  /** A stable word for what `generate` rejected with: the error itself may hold the message and is never logged. */
  readonly failureCode: (error: unknown) => string;
}

/** A title that this process owes. */
interface Owed {
  readonly job: TitleJob;
  /** Aborted when the model's time is over. */
  readonly enough: AbortController;
  readonly timer: Timer;
}

export class Titles {
  readonly #options: TitlesOptions;
  /** Those that a model is still to be asked for. */
  readonly #pending: Owed[] = [];
  /** Those that are made of the message. */
  readonly #plain: TitleJob[] = [];
  #storing = 0;
  /** Lives whose title is pending or at work here: a job that falls due meanwhile must not be done twice. */
  readonly #lives = new Set<string>();
  readonly #timer: Timer;
  /** Those that a model is asked for. */
  readonly #atWork = new Set<Owed>();
  #stopped = false;

  constructor(options: TitlesOptions) {
    this.#options = options;
    this.#timer = options.clock.every(LOOK_EVERY_MS, () => void this.lookForDue());
  }

  /** Takes a job that a chat of this process has just created. */
  start(job: TitleJob): void {
    const waiting = this.#pending.length + this.#plain.length;
    if (this.#stopped || waiting >= MAX_PENDING || this.#lives.has(lifeOf(job))) return;
    this.#lives.add(lifeOf(job));
    if (this.#rigFor(job) === null) {
      this.#makePlain(job);
      return;
    }
    const timer = this.#options.clock.after(MODEL_MS, () => this.#giveUp(owed));
    const owed: Owed = { job, enough: new AbortController(), timer };
    this.#pending.push(owed);
    this.#askModels();
  }

  /** Takes jobs that nobody has finished in time, after a crash for example. */
  async lookForDue(): Promise<void> {
    if (this.#stopped || this.#pending.length + this.#plain.length > 0) return;
    try {
      const due = await this.#options.jobs.claimTitles(CLAIM_AT_ONCE, TITLE_LEASE_MS);
      for (const job of due) this.start(job);
    } catch (error) {
      this.#options.logger.warn({ err: error }, "titles that are due could not be looked for");
    }
  }

  /** Begins no more titles and generates none to its end; those that are not finished stay owed. */
  stop(): void {
    this.#stopped = true;
    this.#timer.stop();
    for (const { timer, enough } of [...this.#pending.splice(0), ...this.#atWork]) {
      timer.stop();
      enough.abort(new Error("The service stops"));
    }
  }

  /** The utility model that makes a title; `null` where none has anything to add to the message (contract section 4). */
  #rigFor({ app: name, utilityModel: chosen }: TitleJob): string | null {
    const app = this.#options.apps.get(name);
    // What was said to an App that is gone goes to no model of another one.
    if (app === null) return null;
    const rig = chosen !== null && app.models.includes(chosen) ? chosen : app.utilityModel;
    return rig.startsWith("demo/") ? null : rig;
  }

  #giveUp(owed: Owed): void {
    owed.enough.abort(new Error("The model took too long"));
    const place = this.#pending.indexOf(owed);
    if (place < 0) return;
    this.#pending.splice(place, 1);
    this.#makePlain(owed.job);
  }

  #makePlain(job: TitleJob): void {
    this.#plain.push(job);
    while (this.#storing < MAX_AT_ONCE && !this.#stopped) {
      const next = this.#plain.shift();
      if (next === undefined) return;
      this.#storing += 1;
      void this.#storePlain(next);
    }
  }

  /** Stores one, then those that wait behind it. */
  async #storePlain(first: TitleJob): Promise<void> {
    let job: TitleJob | undefined = first;
    while (job !== undefined && !this.#stopped) {
      await this.#finish(job, plainTitle(job.text));
      job = this.#plain.shift();
    }
    this.#storing -= 1;
  }

  #askModels(): void {
    while (this.#atWork.size < MAX_AT_ONCE && !this.#stopped) {
      const next = this.#pending.shift();
      if (next === undefined) return;
      this.#atWork.add(next);
      void this.#generate(next).finally(() => {
        next.timer.stop();
        this.#atWork.delete(next);
        this.#askModels();
      });
    }
  }

  async #generate({ job, enough }: Owed): Promise<void> {
    const title = await this.#ask(job, enough.signal);
    // The fallback is for a model that gives none, not for one that was not let.
    if (!this.#stopped) await this.#finish(job, title ?? plainTitle(job.text));
  }

  /** What the model says, `null` where that is no title. */
  async #ask(job: TitleJob, signal: AbortSignal): Promise<string | null> {
    const { generate, logger, failureCode } = this.#options;
    // The App may be another one since the job came.
    const rig = this.#rigFor(job);
    if (rig === null) return null;
    const tooLong = Promise.withResolvers<never>();
    const onAbort = (): void => tooLong.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return cleanTitle(await Promise.race([generate(rig, job.text, signal), tooLong.promise]));
    } catch (error) {
      if (!this.#stopped) {
        const code = failureCode(error);
        logger.info({ code, rig }, "a title is made from the message, because the model gave none");
      }
      return null;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #finish(job: TitleJob, title: string): Promise<void> {
    try {
      const { jobs, registry } = this.#options;
      const { sessionId, life } = job;
      const committed = await registry.invalidateOnUnknownOutcome(
        sessionId,
        jobs.finishTitle(sessionId, life, title),
      );
      if (committed !== null) registry.apply(committed);
    } catch (error) {
      this.#options.logger.warn({ err: error }, "a title was not stored; it will be tried again");
    } finally {
      this.#lives.delete(lifeOf(job));
    }
  }
}

function lifeOf({ sessionId, life }: TitleJob): string {
  return `${sessionId} ${life}`;
}
