import type { AdminLatencyRow, AdminPercentiles } from "@colloquy/protocol";
import type { EndedTurn } from "../core/ports/driven/admin-store.ts";
import { timeText } from "./wire.ts";

interface Times {
  readonly total: number[];
  readonly running: number[];
  readonly place: number[];
}

/** Durations of turns, by end time. Keeps three numbers per turn, so callers must limit the number of turns. */
export class LatencyTally {
  readonly #bucketMs: number;
  readonly #buckets = new Map<number, Times>();

  constructor(bucketMs: number) {
    this.#bucketMs = bucketMs;
  }

  add({ state, enqueuedAt, startedAt, endedAt, ranMs }: EndedTurn): void {
    // The duration of an interrupted turn depends on the person who interrupted it.
    if (state !== "complete" && state !== "failed") return;
    const at = Math.floor(endedAt / this.#bucketMs) * this.#bucketMs;
    const times = this.#buckets.get(at) ?? { total: [], running: [], place: [] };
    this.#buckets.set(at, times);
    times.total.push(endedAt - enqueuedAt);
    times.running.push(ranMs);
    if (startedAt !== null) times.place.push(startedAt - enqueuedAt);
  }

  /** Returns rows, oldest first. */
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

/** Nearest-rank percentiles: each value is the duration of a turn. Negative durations of a clock set back count as 0. */
function percentiles(times: readonly number[]): AdminPercentiles {
  const sorted = Float64Array.from(times, (time) => Math.max(0, time)).toSorted();
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
