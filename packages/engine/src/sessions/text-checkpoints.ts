// Checkpoints streaming text before its step ends. One write stores the text of all turns in this process.

import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { TurnStore } from "../core/ports/driven/store.ts";
import type { TurnIdentity } from "../core/turn.ts";

/** Streamed text is durable within this time (contract section 3). */
const DURABLE_WITHIN_MS = 250;
const MIN_WAIT_MS = 100;
const MAX_WAIT_MS = 200;
const SPARE_MS = 10;

/** Text of a streaming step. */
export class StepText {
  readonly turn: TurnIdentity;
  /** Number of characters before `unsaved`. */
  saved = 0;
  unsaved = "";

  constructor({ sessionId, sessionKey, number, epoch }: TurnIdentity) {
    // Only the identity: every write copies it to the store's thread.
    this.turn = { sessionId, sessionKey, number, epoch };
  }
}

export interface TextCheckpointsOptions {
  readonly store: Pick<TurnStore, "checkpoint">;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  readonly logger: Pick<Logger, "warn">;
}

export class TextCheckpoints {
  readonly #options: TextCheckpointsOptions;
  /** Steps with unsaved text. */
  readonly #waiting = new Set<StepText>();
  #timer: Timer | null = null;
  /** The write in progress. */
  #writing: { readonly steps: Set<StepText>; readonly ended: Promise<void> } | null = null;
  /** When the oldest unsaved text arrived, in monotonic milliseconds. */
  #since = 0;
  /** Duration of the last write in milliseconds. */
  #tookMs = 0;
  /** True if the last write failed. */
  #isFailing = false;

  constructor(options: TextCheckpointsOptions) {
    this.#options = options;
  }

  /** Adds text to a step. It is durable within 250 ms. */
  add(step: StepText, text: string): void {
    if (this.#waiting.size === 0) this.#since = this.#options.clock.monotonic();
    step.unsaved += text;
    this.#waiting.add(step);
    this.#schedule();
  }

  /**
   * Stops checkpointing a step. Resolves when no write of its text is in progress, so that a commit can
   * remove it.
   */
  async end(step: StepText): Promise<void> {
    this.#waiting.delete(step);
    if (this.#writing?.steps.delete(step) === true) await this.#writing.ended;
  }

  #schedule(): void {
    if (this.#waiting.size === 0 || this.#timer !== null || this.#writing !== null) return;
    const { clock } = this.#options;
    const wait = Math.max(MIN_WAIT_MS, Math.min(MAX_WAIT_MS, DURABLE_WITHIN_MS - SPARE_MS - this.#tookMs));
    const left = this.#since + wait - clock.monotonic();
    if (left <= 0) return this.#begin();
    this.#timer = clock.after(left, () => {
      this.#timer = null;
      this.#begin();
    });
  }

  #begin(): void {
    if (this.#waiting.size === 0) return;
    const steps = new Set(this.#waiting);
    this.#waiting.clear();
    this.#writing = { steps, ended: this.#write(steps) };
  }

  /** Never rejects. */
  async #write(steps: Set<StepText>): Promise<void> {
    const { clock, logger, store } = this.#options;
    const begun = clock.monotonic();
    const all = [...steps];
    const pieces = all.map(({ turn, saved: offset, unsaved: text }) => ({ turn, offset, text }));
    for (const step of all) {
      step.saved += step.unsaved.length;
      step.unsaved = "";
    }
    let stored: readonly boolean[] = [];
    try {
      stored = await store.checkpoint(pieces);
      this.#isFailing = false;
    } catch (error) {
      // Log only the first failure: retries run five times a second.
      if (!this.#isFailing) logger.warn({ err: error }, "could not checkpoint streaming text");
      this.#isFailing = true;
    }
    for (const [index, step] of all.entries()) {
      const piece = pieces[index];
      if (piece === undefined || stored[index] === true || !steps.has(step)) continue;
      step.unsaved = piece.text + step.unsaved;
      step.saved = piece.offset;
      if (this.#waiting.size === 0) this.#since = begun;
      this.#waiting.add(step);
    }
    this.#tookMs = clock.monotonic() - begun;
    this.#writing = null;
    this.#schedule();
  }
}
