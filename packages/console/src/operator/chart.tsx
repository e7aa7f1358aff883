// A line chart over time with text alternatives: a legend with the values under the pointer, a summary, and a
// table.

import { Suspense, useState, type ReactNode } from "react";
import { Moment } from "../design/moment.tsx";
import { ErrorBoundary, lazyPart } from "@colloquy/ui/parts";
import type { LineChartProps } from "./line-chart.tsx";
import { dashOf, isLine } from "./series.ts";
import type { Bucket } from "./time-range.ts";
import { DataTable, type Column } from "./view-parts.tsx";
import styles from "./operator.module.css";

interface ChartProps extends Omit<LineChartProps, "onPoint"> {
  /** Title, also of the table. */
  readonly title: string;
  /** One-sentence summary. */
  readonly summary: string;
  /** Formats a value in words. */
  readonly valueText: (value: number) => string;
}

/** The drawing library is loaded when there is something to draw. */
const LineChart = lazyPart(async () => (await import("./line-chart.tsx")).LineChart);

export function Chart(props: ChartProps): ReactNode {
  const { title, summary, bucket, starts, series, valueText } = props;
  const [index, setIndex] = useState<number | null>(null);
  const isDrawn = isLine(series);
  const at = index === null ? undefined : starts[index];
  return (
    <figure className={styles["figure"]}>
      <figcaption>
        <h3>{title}</h3>
        <p className={styles["soft"]}>{summary}</p>
      </figcaption>
      {isDrawn && (
        <>
          <ul className={styles["legend"]} aria-hidden>
            {series.map(({ label, values }, at) => (
              <li key={label}>
                <Swatch at={at} />
                {label}
                {index !== null && (
                  <strong>{typeof values[index] === "number" ? valueText(values[index]) : "–"}</strong>
                )}
              </li>
            ))}
            <li className={styles["pointed"]}>{at !== undefined && bucketText(at, bucket)}</li>
          </ul>
          <ErrorBoundary>
            <div className={styles["chart"]} role="img" aria-label={`${title}. ${summary}`}>
              <Suspense fallback={null}>
                <LineChart {...props} onPoint={setIndex} />
              </Suspense>
            </div>
          </ErrorBoundary>
        </>
      )}
      <details className={styles["details"]} open={!isDrawn}>
        <summary>{isDrawn ? "The same as a table" : "As a table: there is too little for a chart"}</summary>
        <ChartTable {...props} />
      </details>
    </figure>
  );
}

function ChartTable({ title, starts, series, valueText, bucket }: ChartProps): ReactNode {
  const rows = starts
    .map((start, index) => ({ start, values: series.map(({ values }) => values[index] ?? null) }))
    .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    .toReversed();
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      label: bucket === "day" ? "Day (UTC)" : "From",
      cell: ({ start }) => (bucket === "day" ? bucketText(start, bucket) : <Moment at={start} />),
    },
    ...series.map(({ label }, index) => ({
      label,
      isNumber: true,
      cell: ({ values }: (typeof rows)[number]) => {
        const value = values[index];
        return typeof value === "number" ? valueText(value) : "–";
      },
    })),
  ];
  return (
    <DataTable
      caption={`${title}, newest first, without what is empty`}
      columns={columns}
      rows={rows}
      rowKey={({ start }) => String(start)}
      empty="There is nothing to show."
    />
  );
}

/** Shows a series' line with its dashes, which distinguish it without colour. */
function Swatch({ at }: { readonly at: number }): ReactNode {
  return (
    <svg width="26" height="8" viewBox="0 0 26 8" className={styles[`series-${at + 1}`]}>
      <line x1="1" y1="4" x2="25" y2="4" strokeWidth="2.5" strokeDasharray={dashOf(at).join(" ")} />
    </svg>
  );
}

/** Days are UTC days and named as such; shorter buckets use the reader's time zone. */
export function bucketText(start: number, bucket: Bucket): string {
  const format: Intl.DateTimeFormatOptions =
    bucket === "day"
      ? { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" }
      : { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat(undefined, format).format(start);
}
