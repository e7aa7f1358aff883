import type { Clock, Timer } from "../core/ports/clock.ts";
import type { TurnFailure } from "./journal.ts";

export interface TurnLimits {
  /** Milliseconds that a turn may run in all of its attempts together, and that it may run without progress. */
  readonly turnMs: number;
  readonly idleMs: number;
  readonly maxSteps: number;
  /** Milliseconds that a tool call may take. */
  readonly toolMs: number;
  readonly maxModelRetries: number;
  /** Milliseconds that a person has to decide what a turn asks; none of them count towards the others. */
  readonly actionMs: number;
}

/**
 * Watches the time of one turn: its `signal` is aborted, and `failure` says why, when a limit is passed. That is so from the beginning where
 * `ranMs`, the milliseconds that the turn ran in earlier attempts, are as many as it may run at all.
 */
export class TurnDeadline {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #endsAt: number;
  readonly #end: Timer;
  #idle: Timer;
  #lastProgress: number;
  #failure: TurnFailure | null = null;

  constructor(clock: Clock, limits: TurnLimits, ranMs: number) {
    this.#clock = clock;
    this.#idleMs = limits.idleMs;
    this.#lastProgress = clock.monotonic();
    const leftMs = Math.max(0, limits.turnMs - ranMs);
    this.#endsAt = this.#lastProgress + leftMs;
    this.#end = clock.after(leftMs, () => this.#timeOut());
    this.#idle = clock.after(limits.idleMs, () => this.#checkIdle());
    if (leftMs === 0) this.#timeOut();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get failure(): TurnFailure | null {
    return this.#failure;
  }

  /** Milliseconds until a limit is passed if nothing comes from now on. */
  get left(): number {
    return Math.min(this.#endsAt, this.#lastProgress + this.#idleMs) - this.#clock.monotonic();
  }

  /** Something came from the model or a tool. Cheap: it is called for every piece of text. */
  progress(): void {
    this.#lastProgress = this.#clock.monotonic();
  }

  stop(): void {
    this.#end.stop();
    this.#idle.stop();
  }

  /** Stops whatever still runs for the turn, although no limit is passed: the turn has met a defect. */
  abort(): void {
    this.#controller.abort();
  }

  #timeOut(): void {
    this.#fail("turn_timeout", "The answer took too long and was stopped.");
  }

  #checkIdle(): void {
    const left = this.#lastProgress + this.#idleMs - this.#clock.monotonic();
    if (left > 0) this.#idle = this.#clock.after(left, () => this.#checkIdle());
    else
      this.#fail(
        "turn_stalled",
        "The assistant made no progress for too long and was stopped. Send your message again.",
      );
  }

  #fail(code: string, message: string): void {
    this.#failure ??= { code, message };
    this.#controller.abort();
  }
}
