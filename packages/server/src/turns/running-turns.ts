// The turns that run in this process: how many may, on which provider, and how each is stopped.

import type { Clock } from "../core/ports/clock.ts";
import type { StartedTurn } from "../core/turn.ts";
import { providerOf } from "../core/rig.ts";

export interface RunningTurn {
  readonly turn: StartedTurn;
  /** Aborted to stop it. */
  readonly controller: AbortController;
  /** Monotonic milliseconds until which its lease is surely held; it stops by itself then. */
  heldUntil: number;
}

export interface Places {
  /** Turns that may run in this process. */
  readonly total: number;
  /** Turns that may run on a provider, for those that have a limit of their own. */
  readonly byProvider: Readonly<Record<string, number>>;
}

export class RunningTurns {
  readonly #places: Places;
  readonly #byEpoch = new Map<number, RunningTurn>();
  readonly #epochBySession = new Map<number, number>();
  readonly #countByProvider = new Map<string, number>();
  /** Places that are promised to transactions which have not answered yet. */
  #promised = 0;
  readonly #idle: (() => void)[] = [];

  constructor(places: Places) {
    this.#places = places;
  }

  get size(): number {
    return this.#byEpoch.size;
  }

  get free(): number {
    return this.#places.total - this.#byEpoch.size - this.#promised;
  }

  /** Whether a provider has a limit of its own: then places are promised one by one, so that each is counted against it. */
  get limitsProviders(): boolean {
    return Object.keys(this.#places.byProvider).length > 0;
  }

  /** Promises up to `count` places to a transaction; answers how many. Each is taken by `add` or given back by `unpromise`. */
  promise(count: number): number {
    const promised = Math.max(0, Math.min(count, this.free));
    this.#promised += promised;
    return promised;
  }

  unpromise(count: number): void {
    this.#promised -= count;
  }

  /** Providers on which no other turn may start; counts every promised place against each, so that no limit is ever passed. */
  fullProviders(promised: number): string[] {
    const others = this.#promised - promised;
    return Object.entries(this.#places.byProvider)
      .filter(([provider, limit]) => (this.#countByProvider.get(provider) ?? 0) + others + promised > limit)
      .map(([provider]) => provider);
  }

  /** Takes a promised place. */
  add(running: RunningTurn): void {
    this.#promised -= 1;
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

  /** Stops what runs in a life of a session for an epoch below this one. */
  abort(sessionId: string, life: string, below: number): void {
    for (const { turn, controller } of this.#byEpoch.values()) {
      if (turn.sessionId === sessionId && turn.life === life && turn.epoch < below) controller.abort();
    }
  }

  /** Resolves when no turn runs, or when `atMostMs` are over. */
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

  /** Whether a turn of the session runs here that was not told to stop: then what it says is here first. */
  works(sessionKey: number): boolean {
    return this.ofSession(sessionKey)?.controller.signal.aborted === false;
  }

  /** The session has come to this epoch: a turn of an older one that runs here has lost its right to. */
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
