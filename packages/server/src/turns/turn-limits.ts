import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { TurnFailure } from "../core/turn.ts";

export interface TurnLimits {
  /** Maximum milliseconds of a turn over all attempts; `idleMs` is the maximum without progress. */
  readonly turnMs: number;
  readonly idleMs: number;
  readonly maxSteps: number;
  /** Maximum milliseconds of a tool call. */
  readonly toolMs: number;
  readonly maxModelRetries: number;
  /** Maximum milliseconds for a person to decide an action; they do not count towards the other limits. */
  readonly actionMs: number;
}

/**
 * Enforces the time limits of one turn: aborts `signal` and sets `failure` when a limit is exceeded. It does
 * so at once if `ranMs`, the milliseconds of earlier attempts, already exceeds the turn's limit.
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

  /** Milliseconds until a limit is exceeded without further progress. */
  get left(): number {
    return Math.min(this.#endsAt, this.#lastProgress + this.#idleMs) - this.#clock.monotonic();
  }

  /** Records progress of the model or a tool. Cheap, because it is called for every delta. */
  progress(): void {
    this.#lastProgress = this.#clock.monotonic();
  }

  stop(): void {
    this.#end.stop();
    this.#idle.stop();
  }

  /** Aborts the turn's remaining work after a defect. */
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

  #fail(code: TurnFailure["code"], message: string): void {
    this.#failure ??= { code, message };
    this.#controller.abort();
  }
}
