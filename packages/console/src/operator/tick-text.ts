import type { Bucket } from "./time-range.ts";

const DAY_SECONDS = 86_400;

/**
 * Returns the label of a chart's tick at `time`, in seconds since 1970. `step` is the number of seconds
 * between ticks; from a day on, labels have no time of day. Days are UTC days, everything else is in the
 * reader's time zone.
 */
export function tickText(time: number, step: number, bucket: Bucket, locale?: string): string {
  const date = new Date(time * 1_000);
  const isUtc = bucket === "day";
  const [hours, minutes] = isUtc
    ? [date.getUTCHours(), date.getUTCMinutes()]
    : [date.getHours(), date.getMinutes()];
  const format: Intl.DateTimeFormatOptions =
    step >= DAY_SECONDS || (hours === 0 && minutes === 0)
      ? { day: "numeric", month: "short" }
      : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  return new Intl.DateTimeFormat(locale, { ...format, ...(isUtc && { timeZone: "UTC" }) }).format(date);
}
