// The running turns of this process, their slots, and the time limits of each turn.

import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import { type StartedTurn, type TurnFailure, providerOf } from "../core/turn.ts";

export interface RunningTurn {
  readonly turn: StartedTurn;
  /** Controller that is aborted to stop the turn. */
  readonly controller: AbortController;
  /** Monotonic time in milliseconds until which the lease is certainly held. The turn stops at this time. */
  heldUntil: number;
}

export interface SlotLimits {
  /** Maximum turns running in this process. */
  readonly total: number;
  /** Maximum running turns by provider, for providers with their own limit. */
  readonly byProvider: Readonly<Record<string, number>>;
}

export class RunningTurns {
  readonly #slots: SlotLimits;
  readonly #byEpoch = new Map<number, RunningTurn>();
  /** The newest turn of each session, by the store's key. A superseded turn may still run. */
  readonly #bySession = new Map<number, RunningTurn>();
  readonly #countByProvider = new Map<string, number>();
  /** Slots reserved for transactions in progress. */
  #reserved = 0;
  readonly #idle: (() => void)[] = [];

  constructor(slots: SlotLimits) {
    this.#slots = slots;
  }

  get size(): number {
    return this.#byEpoch.size;
  }

  get free(): number {
    return this.#slots.total - this.#byEpoch.size - this.#reserved;
  }

  /**
   * True if any provider has its own limit. Slots are then reserved one by one, so that each counts against
   * its provider.
   */
  get limitsProviders(): boolean {
    return Object.keys(this.#slots.byProvider).length > 0;
  }

  /** Reserves up to `count` slots and returns how many. Each must be taken by `add` or returned by `unreserve`. */
  reserve(count: number): number {
    const reserved = Math.max(0, Math.min(count, this.free));
    this.#reserved += reserved;
    return reserved;
  }

  unreserve(count: number): void {
    this.#reserved -= count;
  }

  /**
   * Returns the providers without a free slot. Counts every reserved slot against each, so that no limit is
   * exceeded.
   */
  fullProviders(): string[] {
    return Object.entries(this.#slots.byProvider)
      .filter(([provider, limit]) => (this.#countByProvider.get(provider) ?? 0) + this.#reserved > limit)
      .map(([provider]) => provider);
  }

  /** Takes a reserved slot. */
  add(running: RunningTurn): void {
    this.#reserved -= 1;
    const { turn } = running;
    this.#byEpoch.set(turn.epoch, running);
    this.#bySession.set(turn.sessionKey, running);
    this.#count(turn, 1);
  }

  remove(running: RunningTurn): void {
    const { turn } = running;
    this.#byEpoch.delete(turn.epoch);
    if (this.#bySession.get(turn.sessionKey)?.turn.epoch === turn.epoch)
      this.#bySession.delete(turn.sessionKey);
    this.#count(turn, -1);
    if (this.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Aborts turns of this incarnation whose epoch is less than `below`. */
  abort(sessionId: string, incarnation: string, below: number): void {
    for (const { turn, controller } of this.#byEpoch.values()) {
      if (turn.sessionId === sessionId && turn.incarnation === incarnation && turn.epoch < below)
        controller.abort();
    }
  }

  /** Resolves when no turn runs, or after `atMostMs`. */
  async untilIdle(atMostMs: number, clock: Clock): Promise<void> {
    if (this.size === 0) return;
    const idle = new AbortController();
    this.#idle.push(() => idle.abort());
    await clock.sleep(atMostMs, idle.signal).catch(() => undefined);
  }

  ofSession(sessionKey: number): RunningTurn | null {
    return this.#bySession.get(sessionKey) ?? null;
  }

  /**
   * Returns true if this process runs an uncancelled turn of the session. Its text is then up to date here.
   */
  isRunning(sessionKey: number): boolean {
    return this.ofSession(sessionKey)?.controller.signal.aborted === false;
  }

  /** Aborts a running turn of the session with an older epoch. */
  supersede(sessionKey: number, epoch: number): void {
    const running = this.ofSession(sessionKey);
    if (running !== null && running.turn.epoch < epoch) running.controller.abort();
  }

  all(): readonly RunningTurn[] {
    return [...this.#byEpoch.values()];
  }

  #count({ model }: StartedTurn, by: number): void {
    const provider = providerOf(model);
    this.#countByProvider.set(provider, (this.#countByProvider.get(provider) ?? 0) + by);
  }
}

export interface TurnLimits {
  /** Maximum milliseconds of a turn over all attempts; `idleMs` is the maximum without progress. */
  readonly turnMs: number;
  readonly idleMs: number;
  readonly maxSteps: number;
  /** Maximum milliseconds of a tool call. */
  readonly toolMs: number;
  readonly maxModelRetries: number;
  /** Maximum milliseconds that an action waits for a decision. This time does not count towards the other limits. */
  readonly actionMs: number;
}

/**
 * Enforces the time limits of one turn: aborts `signal` and sets `failure` when a limit is exceeded. Does so
 * at once if `ranMs`, the milliseconds of earlier attempts, already exceeds the limit.
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

  /** Aborts the turn's remaining work. */
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
