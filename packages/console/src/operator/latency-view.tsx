import type { AdminClient, AdminLatency, AdminLatencyRow } from "@colloquy/client/admin";
import { useCallback, useMemo, useState, type ReactNode } from "react";
import { durationText } from "@colloquy/ui/parts";
import { useQuery } from "./administration.tsx";
import { bucketText, Chart } from "./chart.tsx";
import { CoveredNote } from "./covered-note.tsx";
import { countText } from "./quantities.ts";
import { RangeForm, useChosenRange, type ChosenRange } from "./range-form.tsx";
import { peak, valuesAt } from "./series.ts";
import { bucketStarts, span, type Bucket } from "./time-range.ts";
import { Choice, Pending, ViewHeading } from "./view-parts.tsx";
import styles from "./operator.module.css";

type Measure = "total_ms" | "running_ms" | "place_ms";

const MEASURES: readonly (readonly [Measure, string])[] = [
  ["total_ms", "From message to end"],
  ["running_ms", "Running alone"],
  ["place_ms", "Waiting for a slot"],
];

const PERCENTILES = ["p50", "p95", "p99"] as const;
const OFFERED = ["minute", "hour", "day"] as const satisfies readonly Bucket[];

/** Durations of turns over time. */
export function LatencyView(): ReactNode {
  const [chosen, setChosen] = useChosenRange();
  const [measure, setMeasure] = useState<Measure>("total_ms");
  const ask = useCallback(
    (client: AdminClient, signal: AbortSignal): Promise<AdminLatency> => {
      const { from, to } = span(chosen.range, chosen.bucket, Date.now());
      return client.latency({ signal, from: new Date(from), to: new Date(to), bucket: chosen.bucket });
    },
    [chosen],
  );
  const query = useQuery(ask);
  return (
    <>
      <ViewHeading title="Latency" query={query} />
      <RangeForm chosen={chosen} offered={OFFERED} onChange={setChosen}>
        <Choice label="Show" value={measure} options={MEASURES} onChange={setMeasure} />
      </RangeForm>
      <Pending {...query} />
      {query.answer !== null && (
        <>
          <CoveredNote report={query.answer} />
          <LatencyChart latency={query.answer} measure={measure} chosen={chosen} />
        </>
      )}
    </>
  );
}

function LatencyChart({
  latency,
  measure,
  chosen,
}: {
  readonly latency: AdminLatency;
  readonly measure: Measure;
  readonly chosen: ChosenRange;
}): ReactNode {
  const { bucket, from, to, rows } = latency;
  const starts = useMemo(() => bucketStarts(Date.parse(from), Date.parse(to), bucket), [from, to, bucket]);
  const series = useMemo(
    () =>
      PERCENTILES.map((percentile) => ({
        label: percentile,
        values: valuesAt(rows, starts, {
          start: ({ at }) => Date.parse(at),
          value: (row) => row[measure]?.[percentile] ?? null,
        }),
      })),
    [rows, starts, measure],
  );
  if (rows.length === 0) return <p className={styles["empty"]}>No turn ended in this time.</p>;
  const label = MEASURES.find(([name]) => name === measure)?.[1] ?? "";
  return (
    <Chart
      title={`${label}: half, 95 % and 99 % of turns took at most`}
      summary={summaryOf(rows, series[2]?.values ?? [], starts, bucket, chosen)}
      bucket={bucket}
      starts={starts}
      series={series}
      valueText={durationText}
      axisText={durationText}
    />
  );
}

function summaryOf(
  rows: readonly AdminLatencyRow[],
  slowest: readonly (number | null)[],
  starts: readonly number[],
  bucket: Bucket,
  { range }: ChosenRange,
): string {
  const turns = rows.reduce((sum, row) => sum + row.turns, 0);
  const highest = peak(slowest);
  const when = highest === null ? undefined : starts[highest.index];
  const counted = `${range.label}: ${countText(turns)} ${turns === 1 ? "turn" : "turns"}`;
  if (highest === null || when === undefined) return `${counted}.`;
  return `${counted}; the highest p99 was ${durationText(highest.value)}, in the ${bucket} of ${bucketText(when, bucket)}.`;
}
