// Generates titles from a session's first message, in parallel to its turn. The chat's transaction stores the
// job, so that a crash only delays a title.

import { TITLE_LEASE_MS } from "../core/commands/finish-title.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { TitleJob, Store } from "../core/ports/driven/store.ts";
import { PLACEHOLDER_TITLE } from "../core/session.ts";
import { cleanText, isJsonObject } from "../core/json.ts";
import { withoutThinking } from "../core/thinking-tags.ts";
import { untilAborted } from "../core/waiting.ts";
import type { SessionRegistry } from "./session-registry.ts";
import { utilityRigOf } from "./utility-rig.ts";

/**
 * Time from the chat, or from the claim of a job, until the plain title is used instead of the model's. The
 * rest of the job's lease is for storing the title.
 */
const MODEL_MS = 15_000;
const LOOK_EVERY_MS = 10_000;
/** Maximum concurrent model calls, and maximum concurrent writes of plain titles. */
const MAX_AT_ONCE = 8;
const CLAIM_AT_ONCE = 100;
/** Maximum jobs in memory; further jobs stay in the store until they are due again. */
const MAX_PENDING = 1_000;
/** Maximum UTF-16 units of a plain title, without the ellipsis. */
const MAX_TITLE = 60;
/** Maximum UTF-16 units of a model's title, with the ellipsis. */
const MAX_MODEL_TITLE = 80;
/** Maximum characters read of a model's answer, and of its part after the thinking. */
const MAX_ANSWER = 100_000;
const MAX_READ = 400;
/** Splits into grapheme clusters, so that a cut never splits an emoji. Created on demand, because that is slow. */
let characters: Intl.Segmenter | null = null;

export interface TitlesOptions {
  readonly store: Pick<Store, "jobs">;
  readonly registry: Pick<SessionRegistry, "execute">;
  readonly apps: AppCatalog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns true for the demo model, which generates no titles. */
  readonly isDemo: (rig: string) => boolean;
  /** Generates a title with a utility model. Rejects if it fails or the signal is aborted. */
  readonly generate: (rig: string, message: string, signal: AbortSignal) => Promise<string>;
  /** Returns a stable code for an error of `generate`. The error may contain the message and is never logged. */
  readonly failureCode: (error: unknown) => string;
}

/** A title job of this process. */
interface PendingTitle {
  readonly job: TitleJob;
  /** Aborted when the model's time is over. */
  readonly enough: AbortController;
  readonly timer: Timer;
}

export class Titles {
  readonly #options: TitlesOptions;
  /** Jobs that wait for a model. */
  readonly #pending: PendingTitle[] = [];
  /** Jobs that get the plain title. */
  readonly #plain: TitleJob[] = [];
  #storing = 0;
  /** Incarnations whose title this process is generating, so that it does not claim their overdue jobs. */
  readonly #incarnations = new Set<string>();
  readonly #timer: Timer;
  /** Jobs whose model call is in progress. */
  readonly #atWork = new Set<PendingTitle>();
  #stopped = false;

  constructor(options: TitlesOptions) {
    this.#options = options;
    this.#timer = options.clock.every(LOOK_EVERY_MS, () => void this.lookForDue());
  }

  /** Starts a job that a chat of this process created. */
  start(job: TitleJob): void {
    const waiting = this.#pending.length + this.#plain.length;
    if (this.#stopped || waiting >= MAX_PENDING || this.#incarnations.has(incarnationOf(job))) return;
    this.#incarnations.add(incarnationOf(job));
    if (this.#rigFor(job) === null) {
      this.#makePlain(job);
      return;
    }
    const timer = this.#options.clock.after(MODEL_MS, () => this.#giveUp(title));
    const title: PendingTitle = { job, enough: new AbortController(), timer };
    this.#pending.push(title);
    this.#askModels();
  }

  /** Claims jobs that are overdue, for example after a crash. */
  async lookForDue(): Promise<void> {
    if (this.#stopped || this.#pending.length + this.#plain.length > 0) return;
    try {
      const due = await this.#options.store.jobs.claimTitles(CLAIM_AT_ONCE, TITLE_LEASE_MS);
      for (const job of due) this.start(job);
    } catch (error) {
      this.#options.logger.warn({ err: error }, "could not claim title jobs");
    }
  }

  /** Starts no more titles and cancels those in progress; their jobs stay in the store. */
  stop(): void {
    this.#stopped = true;
    this.#timer.stop();
    for (const { timer, enough } of [...this.#pending.splice(0), ...this.#atWork]) {
      timer.stop();
      enough.abort(new Error("The service stops"));
    }
  }

  /** Returns the utility model for a title; `null` for the plain title (contract section 4). */
  #rigFor({ app: name, utilityModel: chosen }: TitleJob): string | null {
    const app = this.#options.apps.get(name);
    // Never send messages of a removed App to another App's model.
    if (app === null) return null;
    const rig = utilityRigOf(app, chosen);
    return this.#options.isDemo(rig) ? null : rig;
  }

  #giveUp(title: PendingTitle): void {
    title.enough.abort(new Error("The model took too long"));
    const place = this.#pending.indexOf(title);
    if (place < 0) return;
    this.#pending.splice(place, 1);
    this.#makePlain(title.job);
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

  /** Stores this title, then the waiting ones. */
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

  async #generate({ job, enough }: PendingTitle): Promise<void> {
    const title = await this.#ask(job, enough.signal);
    // The fallback is for failed models, not for titles cancelled by the stop.
    if (!this.#stopped) await this.#finish(job, title ?? plainTitle(job.text));
  }

  /** Returns the model's title, or `null` without a usable one. */
  async #ask(job: TitleJob, signal: AbortSignal): Promise<string | null> {
    const { generate, logger, failureCode } = this.#options;
    // The configuration may have changed since the job started.
    const rig = this.#rigFor(job);
    if (rig === null) return null;
    try {
      return cleanTitle(await untilAborted(generate(rig, job.text, signal), signal));
    } catch (error) {
      if (!this.#stopped) {
        const code = failureCode(error);
        logger.info({ code, rig }, "the model gave no title; using the beginning of the message");
      }
      return null;
    }
  }

  async #finish(job: TitleJob, title: string): Promise<void> {
    try {
      const target = { session: job.sessionId, incarnation: job.incarnation };
      await this.#options.registry.execute({ kind: "finishTitle", target, input: { title, turn: job.turn } });
    } catch (error) {
      this.#options.logger.warn({ err: error }, "could not store a title; retrying later");
    } finally {
      this.#incarnations.delete(incarnationOf(job));
    }
  }
}

function incarnationOf({ sessionId, incarnation }: TitleJob): string {
  return `${sessionId} ${incarnation}`;
}

/** Returns the first visible line of the message without Markdown, cut at a word. Clean text, never empty. */
export function plainTitle(message: string): string {
  const line = firstLine(message);
  // Cut first: the patterns take quadratic time. Lists and underscores stay: people write "2. …" and __init__.
  const bare = withoutSpans(line.slice(0, MAX_READ).replace(/^(?:#{1,6}|>)\s+/, ""), /(\*\*|~~|`+)(.+?)\1/g)
    .toWellFormed()
    .trim();
  return line === "" ? PLACEHOLDER_TITLE : cutTitle(bare === "" ? line : bare, MAX_TITLE);
}

/** Cuts a line at a word, and appends an ellipsis. */
function cutTitle(line: string, max: number): string {
  if (line.length <= max) return line;
  const start = wholeCharacters(line, max);
  const space = line.charAt(start.length) === " " ? start.length : start.lastIndexOf(" ");
  // Without a word boundary in the second half (one long word, Chinese), cut between two characters.
  return `${(space < max / 2 ? start : start.slice(0, space)).trimEnd()}…`;
}

/**
 * Cleans a model's title: one line without thinking, code fences, Markdown, quotes and final full stop, or the
 * `title` of a JSON object. Returns `null` if nothing is left.
 */
export function cleanTitle(answer: string): string | null {
  const text = withoutThinking(cleanText(answer.slice(0, MAX_ANSWER)).trimStart()).trimStart();
  // Cut first: the patterns take quadratic time.
  const unfenced = text.slice(0, MAX_READ).replaceAll(/^\s*```.*$/gm, "");
  const line = firstLine(titleField(unfenced) ?? unfenced);
  if (line.startsWith("{")) return null;
  const bare = withoutMarkdown(line)
    .replace(/^title\s*[:：]\s*/i, "")
    .replace(/^["'“”„«‘*#\s]+|["'“”»’*.\s]+$/gu, "");
  return bare === "" ? null : cutTitle(bare, MAX_MODEL_TITLE - 1);
}

/** Returns the title in a JSON object, which may be cut off after it; `null` without one. */
function titleField(text: string): string | null {
  if (!text.trimStart().startsWith("{")) return null;
  const field = /"title"\s*:\s*("(?:[^"\\]|\\.)*")/i.exec(text)?.[1];
  const value = field === undefined ? null : parseTitle(`{"title":${field}}`);
  return typeof value === "string" ? value : null;
}

function parseTitle(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value["title"] : null;
  } catch {
    return null;
  }
}

function withoutMarkdown(line: string): string {
  return withoutSpans(line.replace(/^(?:#{1,6}|>|[-*+]|\d+[.)])\s+/, ""), /(\*\*|__|~~|`+)(.+?)\1/g);
}

/** Replaces links by their texts, and what `emphasis` matches by its second group. */
function withoutSpans(line: string, emphasis: RegExp): string {
  return line.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(emphasis, "$2");
}

function firstLine(text: string): string {
  for (const line of text.split(/[\r\n]/)) {
    const shown = line.replace(/[\s\p{Cc}]+/gu, " ").trim();
    if (shown !== "") return shown;
  }
  return "";
}

/** Returns as many whole characters as fit; if the first one is too long, its whole code points. */
function wholeCharacters(text: string, max: number): string {
  let end = 0;
  characters ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { index, segment } of characters.segment(text.slice(0, 2 * max))) {
    if (index + segment.length > max) break;
    end = index + segment.length;
  }
  return end > 0 ? text.slice(0, end) : text.slice(0, max).replace(/[\uD800-\uDBFF]$/, "");
}
