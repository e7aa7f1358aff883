// The periods that an operator can select, and their buckets. Buckets start on UTC boundaries, as in the
// service's answers, so that a day is the same for everybody.

export type Bucket = "minute" | "hour" | "day";

const BUCKET_MS: Readonly<Record<Bucket, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

export interface Range {
  readonly name: string;
  readonly label: string;
  readonly ms: number;
}

const HOUR = BUCKET_MS.hour;
const DAY = BUCKET_MS.day;

export const LAST_DAY: Range = { name: "24h", label: "Last 24 hours", ms: DAY };

export const RANGES: readonly Range[] = [
  { name: "1h", label: "Last hour", ms: HOUR },
  LAST_DAY,
  { name: "7d", label: "Last 7 days", ms: 7 * DAY },
  { name: "30d", label: "Last 30 days", ms: 30 * DAY },
  { name: "90d", label: "Last 90 days", ms: 90 * DAY },
];

/** Minimum and maximum number of useful points in a chart. */
const MIN_POINTS = 6;
const MAX_POINTS = 1_500;

/** Returns those offered buckets that give a readable chart of the range; the finest first. */
export function bucketsOf(range: Range, offered: readonly Bucket[]): readonly Bucket[] {
  return offered.filter((bucket) => {
    const points = range.ms / BUCKET_MS[bucket];
    return points >= MIN_POINTS && points <= MAX_POINTS;
  });
}

/** Returns the wanted bucket if it fits the range, else the one closest to 60 points. `null` if none fits. */
export function fittingBucket(
  range: Range,
  offered: readonly Bucket[],
  wanted: Bucket | null,
): Bucket | null {
  const fitting = bucketsOf(range, offered);
  if (wanted !== null && fitting.includes(wanted)) return wanted;
  const distance = (bucket: Bucket): number => Math.abs(Math.log(range.ms / BUCKET_MS[bucket] / 60));
  return fitting.toSorted((one, other) => distance(one) - distance(other))[0] ?? null;
}

/** Returns the period from the bucket in which the range starts until now: milliseconds since 1970. */
export function span(
  range: Range,
  bucket: Bucket,
  now: number,
): { readonly from: number; readonly to: number } {
  return { from: floorTo(bucket, now - range.ms), to: now };
}

/** Returns the starts of all buckets from the one containing `from` to the last that starts before `to`. */
export function bucketStarts(from: number, to: number, bucket: Bucket): number[] {
  const starts: number[] = [];
  for (let start = floorTo(bucket, from); start < to; start += BUCKET_MS[bucket]) starts.push(start);
  return starts;
}

function floorTo(bucket: Bucket, time: number): number {
  return Math.floor(time / BUCKET_MS[bucket]) * BUCKET_MS[bucket];
}
