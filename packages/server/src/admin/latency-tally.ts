import type { AdminLatencyRow, AdminPercentiles } from "@colloquy/protocol";
import type { EndedTurn } from "../core/ports/admin-store.ts";
import { timeText } from "./wire.ts";

interface Times {
  readonly total: number[];
  readonly running: number[];
  readonly place: number[];
}

/** How long turns took, by when they ended. It keeps three numbers of each, so that whoever adds them says how many there may be. */
export class LatencyTally {
  readonly #bucketMs: number;
  readonly #buckets = new Map<number, Times>();

  constructor(bucketMs: number) {
    this.#bucketMs = bucketMs;
  }

  add({ state, enqueuedAt, startedAt, endedAt, ranMs }: EndedTurn): void {
    // How long an interrupted one took, the person has decided.
    if (state !== "complete" && state !== "failed") return;
    const at = Math.floor(endedAt / this.#bucketMs) * this.#bucketMs;
    const times = this.#buckets.get(at) ?? { total: [], running: [], place: [] };
    this.#buckets.set(at, times);
    times.total.push(endedAt - enqueuedAt);
    times.running.push(ranMs);
    if (startedAt !== null) times.place.push(startedAt - enqueuedAt);
  }

  /** Oldest first. */
  rows(): AdminLatencyRow[] {
    return [...this.#buckets]
      .toSorted(([left], [right]) => left - right)
      .map(([at, { total, running, place }]) => ({
        at: timeText(at),
        turns: total.length,
        total_ms: percentiles(total),
        running_ms: percentiles(running),
        place_ms: place.length === 0 ? null : percentiles(place),
      }));
  }
}

/** By the nearest rank: each is a time that some turn took. A clock that was put back gives none below 0. */
function percentiles(times: readonly number[]): AdminPercentiles {
  const sorted = Float64Array.from(times, (time) => Math.max(0, time)).toSorted();
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
