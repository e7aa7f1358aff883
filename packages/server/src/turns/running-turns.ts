// The turns running in this process, and their limits in total and by provider.

import type { Clock } from "../core/ports/driven/clock.ts";
import { type StartedTurn, providerOf } from "../core/turn.ts";

export interface RunningTurn {
  readonly turn: StartedTurn;
  /** Aborted to stop the turn. */
  readonly controller: AbortController;
  /** Monotonic time in milliseconds until which the lease is certainly held; the turn stops then. */
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
  readonly #epochBySession = new Map<number, number>();
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

  /** True if any provider has its own limit; slots are then reserved one by one, so that each is counted. */
  get limitsProviders(): boolean {
    return Object.keys(this.#slots.byProvider).length > 0;
  }

  /**
   * Reserves up to `count` slots and returns how many. Each must be taken by `add` or returned by
   * `unreserve`.
   */
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
  fullProviders(reserved: number): string[] {
    const others = this.#reserved - reserved;
    return Object.entries(this.#slots.byProvider)
      .filter(([provider, limit]) => (this.#countByProvider.get(provider) ?? 0) + others + reserved > limit)
      .map(([provider]) => provider);
  }

  /** Takes a reserved slot. */
  add(running: RunningTurn): void {
    this.#reserved -= 1;
    const { turn } = running;
    this.#byEpoch.set(turn.epoch, running);
    this.#epochBySession.set(turn.sessionKey, turn.epoch);
    this.#count(turn, 1);
  }

  remove(running: RunningTurn): void {
    const { turn } = running;
    this.#byEpoch.delete(turn.epoch);
    if (this.#epochBySession.get(turn.sessionKey) === turn.epoch)
      this.#epochBySession.delete(turn.sessionKey);
    this.#count(turn, -1);
    if (this.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Aborts turns of this incarnation with an epoch below `below`. */
  abort(sessionId: string, life: string, below: number): void {
    for (const { turn, controller } of this.#byEpoch.values()) {
      if (turn.sessionId === sessionId && turn.life === life && turn.epoch < below) controller.abort();
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
    const epoch = this.#epochBySession.get(sessionKey);
    return epoch === undefined ? null : (this.#byEpoch.get(epoch) ?? null);
  }

  /**
   * Returns true if this process runs an uncancelled turn of the session; its text is then up to date here.
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
