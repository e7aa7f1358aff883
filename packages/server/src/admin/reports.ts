// Reports computed from stored turns. They read a limited number of turns in batches, so that they do not block others.

import type {
  AdminLatency,
  AdminUsage,
  AdminUsageRow,
  AdminLatencyRow,
  AdminPercentiles,
} from "@colloquy/protocol";
import { InvalidRequest } from "@colloquy/engine/internal/core/errors";
import type { ReportQuery } from "@colloquy/engine/internal/core/ports/driving/admin-service";
import type {
  AdminStore,
  EndedTurn,
  EndPlace,
} from "@colloquy/engine/internal/core/ports/driven/admin-store";
import { timeOrNull, timeText } from "./wire.ts";

/** Maximum turns that a report reads, newest first. */
const MAX_TURNS = 50_000;
/** Maximum buckets of a report. */
const MAX_BUCKETS = 1_500;
const BATCH_SIZE = 1_000;
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const BUCKET_MS = { minute: 60_000, hour: HOUR_MS, day: DAY_MS } as const;
type Bucket = keyof typeof BUCKET_MS;
/** The latest time of a `Date`, in milliseconds since the Unix epoch. */
const LAST_TIME = 8.64e15;

interface ReportTime {
  readonly from: number;
  readonly to: number;
}

export interface ReportsOptions {
  readonly store: Pick<AdminStore, "now" | "ended">;
  /** Defaults to `MAX_TURNS`. */
  readonly maxTurns?: number;
}

export async function reportUsage(
  options: ReportsOptions,
  query: ReportQuery<AdminUsage["bucket"]>,
): Promise<AdminUsage> {
  const tally = new UsageTally(BUCKET_MS[query.bucket]);
  const head = await readTurns(options, query, (turn) => tally.add(turn));
  return { bucket: query.bucket, ...head, rows: tally.rows() };
}

export async function reportLatency(
  options: ReportsOptions,
  query: ReportQuery<AdminLatency["bucket"]>,
): Promise<AdminLatency> {
  const tally = new LatencyTally(BUCKET_MS[query.bucket]);
  const head = await readTurns(options, query, (turn) => tally.add(turn));
  return { bucket: query.bucket, ...head, rows: tally.rows() };
}

async function readTurns(
  { store, maxTurns = MAX_TURNS }: ReportsOptions,
  query: ReportQuery<Bucket>,
  add: (turn: EndedTurn) => void,
) {
  const { from, to } = await timeOf(store, query);
  let after: EndPlace | null = null;
  let read = 0;
  let coveredFrom: number | null = null;
  for (let isEnd = false; !isEnd; ) {
    const limit = Math.min(BATCH_SIZE, maxTurns - read);
    // Read one more than needed to find out whether there are more.
    const batch: readonly EndedTurn[] = await store.ended({ from, to, after, limit: limit + 1 });
    const used = batch.slice(0, limit);
    for (const turn of used) add(turn);
    read += used.length;
    const last = used.at(-1);
    after = last ?? after;
    isEnd = batch.length <= limit || read >= maxTurns;
    if (isEnd && batch.length > limit) coveredFrom = last?.endedAt ?? null;
  }
  return {
    from: timeText(from),
    to: timeText(to),
    turns_read: read,
    covered_from: timeOrNull(coveredFrom),
  };
}

async function timeOf(
  store: ReportsOptions["store"],
  { from, to, bucket }: ReportQuery<Bucket>,
): Promise<ReportTime> {
  const end = to ?? (await store.now()) + 1;
  const bucketMs = BUCKET_MS[bucket];
  // Round down so that the first bucket is complete.
  const start = Math.max(-LAST_TIME, Math.floor((from ?? end - DAY_MS) / bucketMs) * bucketMs);
  if (start >= end) {
    throw new InvalidRequest("range_invalid", "`from` must be before `to`, which is now when it is absent.");
  }
  if ((end - start) / bucketMs > MAX_BUCKETS) {
    const detail = `A report has at most ${MAX_BUCKETS} buckets. Request a shorter period or longer buckets.`;
    throw new InvalidRequest("range_too_long", detail);
  }
  return { from: start, to: end };
}

/** Sums up the usage of turns by time, App and model. */
class UsageTally {
  readonly #bucketMs: number;
  readonly #rows = new Map<string, AdminUsageRow>();

  constructor(bucketMs: number) {
    this.#bucketMs = bucketMs;
  }

  add(turn: EndedTurn): void {
    const row = this.#rowOf(turn);
    row.messages += turn.hasAnswer ? 2 : 1;
    row.turns += 1;
    row.failed_turns += turn.state === "failed" ? 1 : 0;
    row.input_tokens += turn.inputTokens;
    row.output_tokens += turn.outputTokens;
  }

  /** Returns rows, oldest first, then by App and model. */
  rows(): AdminUsageRow[] {
    return [...this.#rows].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
  }

  #rowOf({ endedAt, app, model }: EndedTurn): AdminUsageRow {
    const at = timeText(Math.floor(endedAt / this.#bucketMs) * this.#bucketMs);
    // Names contain no control characters, so sorting these keys sorts by time, App and model.
    const key = [at, app, model ?? ""].join("\u0000");
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row = { at, app, model, messages: 0, turns: 0, failed_turns: 0, input_tokens: 0, output_tokens: 0 };
    this.#rows.set(key, row);
    return row;
  }
}

interface Times {
  readonly total: number[];
  readonly running: number[];
  readonly place: number[];
}

/** Durations of turns, by end time. Keeps three numbers per turn, so callers must limit the number of turns. */
class LatencyTally {
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
