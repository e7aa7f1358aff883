import { useState, type ReactNode } from "react";
import { bucketsOf, fittingBucket, LAST_DAY, RANGES, type Bucket, type Range } from "./time-range.ts";
import { Choice } from "./view-parts.tsx";
import styles from "./operator.module.css";

export interface ChosenRange {
  readonly range: Range;
  readonly bucket: Bucket;
}

const BUCKET_LABELS: Readonly<Record<Bucket, string>> = { minute: "Minute", hour: "Hour", day: "Day" };

/** The last 24 hours, in hours; every report accepts it. */
const FIRST: ChosenRange = { range: LAST_DAY, bucket: "hour" };

/** Returns the selection and a function that changes it. */
export function useChosenRange(): readonly [ChosenRange, (chosen: ChosenRange) => void] {
  return useState(FIRST);
}

/** Selects the period and its buckets; `offered` are those that the report supports. */
export function RangeForm({
  chosen: { range, bucket },
  offered,
  onChange,
  children,
}: {
  readonly chosen: ChosenRange;
  readonly offered: readonly Bucket[];
  readonly onChange: (chosen: ChosenRange) => void;
  /** More controls. */
  readonly children?: ReactNode;
}): ReactNode {
  const ranges = RANGES.filter((range) => bucketsOf(range, offered).length > 0);
  return (
    <div className={styles["filter"]} role="group" aria-label="What is shown">
      <Choice
        label="Time"
        value={range.name}
        options={ranges.map(({ name, label }) => [name, label] as const)}
        onChange={(name) => {
          const range = ranges.find((range) => range.name === name);
          const fitting = range && fittingBucket(range, offered, bucket);
          if (range && fitting) onChange({ range, bucket: fitting });
        }}
      />
      <Choice
        label="By"
        value={bucket}
        options={bucketsOf(range, offered).map((bucket) => [bucket, BUCKET_LABELS[bucket]] as const)}
        onChange={(bucket) => onChange({ range, bucket })}
      />
      {children}
    </div>
  );
}
