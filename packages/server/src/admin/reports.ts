// Reports from the turns that are stored. They are read in portions, so that a report holds up nobody, and no more of them than a bound.

import type { AdminLatency, AdminUsage } from "@colloquy/protocol";
import { InvalidRequest } from "../core/errors.ts";
import type { ReportQuery } from "../core/ports/admin-service.ts";
import type { AdminStore, EndedTurn, EndPlace } from "../core/ports/admin-store.ts";
import { LatencyTally } from "./latency-tally.ts";
import { UsageTally } from "./usage-tally.ts";
import { timeOrNull, timeText } from "./wire.ts";

/** Turns that one report reads, the newest first. */
const MOST_TURNS = 50_000;
/** Buckets that one report may have. */
const MOST_BUCKETS = 1_500;
const PORTION = 1_000;
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const BUCKET_MS = { minute: 60_000, hour: HOUR_MS, day: DAY_MS } as const;
type Bucket = keyof typeof BUCKET_MS;
/** Milliseconds since the Unix epoch that a date can have. */
const LAST_TIME = 8.64e15;

interface ReportTime {
  readonly from: number;
  readonly to: number;
}

export interface ReportsOptions {
  readonly store: Pick<AdminStore, "now" | "ended">;
  /** `MOST_TURNS` when absent. */
  readonly mostTurns?: number;
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
  { store, mostTurns = MOST_TURNS }: ReportsOptions,
  query: ReportQuery<Bucket>,
  add: (turn: EndedTurn) => void,
) {
  const { from, to } = await timeOf(store, query);
  let after: EndPlace | null = null;
  let read = 0;
  let coveredFrom: number | null = null;
  for (let isEnd = false; !isEnd; ) {
    const limit = Math.min(PORTION, mostTurns - read);
    // One more than are used says whether there are more.
    const portion: readonly EndedTurn[] = await store.ended({ from, to, after, limit: limit + 1 });
    const used = portion.slice(0, limit);
    for (const turn of used) add(turn);
    read += used.length;
    const last = used.at(-1);
    after = last ?? after;
    isEnd = portion.length <= limit || read >= mostTurns;
    if (isEnd && portion.length > limit) coveredFrom = last?.endedAt ?? null;
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
  // The first bucket is a whole one.
  const start = Math.max(-LAST_TIME, Math.floor((from ?? end - DAY_MS) / bucketMs) * bucketMs);
  if (start >= end) {
    throw new InvalidRequest("range_invalid", "`from` must be before `to`, which is now when it is absent.");
  }
  if ((end - start) / bucketMs > MOST_BUCKETS) {
    const detail = `A report has at most ${MOST_BUCKETS} buckets. Ask for a shorter time, or for longer buckets.`;
    throw new InvalidRequest("range_too_long", detail);
  }
  return { from: start, to: end };
}
