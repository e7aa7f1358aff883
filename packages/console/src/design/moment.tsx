import { useMemo, type ReactNode } from "react";

export interface MomentProps {
  /** Milliseconds since 1970, or ISO 8601. */
  readonly at: number | string;
  /** `precise`: the time of day with milliseconds. `minute`: date and time. `day`: the date. */
  readonly show?: "precise" | "minute" | "day";
}

const FORMATS: Readonly<Record<NonNullable<MomentProps["show"]>, Intl.DateTimeFormatOptions>> = {
  precise: {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    hourCycle: "h23",
  },
  minute: { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" },
  day: { day: "numeric", month: "short", year: "numeric" },
};

/** A time in the reader's time zone; the tooltip shows it in UTC. */
export function Moment({ at, show = "minute" }: MomentProps): ReactNode {
  const iso = new Date(at).toISOString();
  const text = useMemo(
    () => new Intl.DateTimeFormat(undefined, FORMATS[show]).format(new Date(iso)),
    [iso, show],
  );
  return (
    <time dateTime={iso} title={`${iso.replace("T", " ").replace("Z", "")} UTC`}>
      {text}
    </time>
  );
}
