// Reports computed from stored turns. They read a limited number of turns in batches, so that they do not block others.

import type { AdminLatency, AdminUsage } from "@colloquy/protocol";
import { InvalidRequest } from "../core/errors.ts";
import type { ReportQuery } from "../core/ports/driving/admin-service.ts";
import type { AdminStore, EndedTurn, EndPlace } from "../core/ports/driven/admin-store.ts";
import { LatencyTally } from "./latency-tally.ts";
import { UsageTally } from "./usage-tally.ts";
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
