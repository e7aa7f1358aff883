import type { AdminClient, AdminUsage, AdminUsageRow } from "@colloquy/client/admin";
import { useCallback, useMemo, useState, type ReactNode } from "react";
import { useQuery } from "./administration.tsx";
import { bucketText, Chart } from "./chart.tsx";
import { CoveredNote } from "./covered-note.tsx";
import { compactText, countText } from "./quantities.ts";
import { RangeForm, useChosenRange, type ChosenRange } from "./range-form.tsx";
import { peak, sumsBy, total } from "./series.ts";
import { bucketStarts, span, type Bucket } from "./time-range.ts";
import { Choice, DataTable, Pending, ViewHeading, type Column } from "./view-parts.tsx";
import styles from "./operator.module.css";

type Measure = "messages" | "turns" | "failed_turns" | "input_tokens" | "output_tokens";
type By = "app" | "model";

const MEASURES: readonly (readonly [Measure, string])[] = [
  ["messages", "Messages"],
  ["turns", "Turns"],
  ["failed_turns", "Failed turns"],
  ["input_tokens", "Input tokens"],
  ["output_tokens", "Output tokens"],
];

const BYS: readonly (readonly [By, string])[] = [
  ["app", "App"],
  ["model", "Model"],
];

const OFFERED = ["hour", "day"] as const satisfies readonly Bucket[];

/** Usage of the service: by time, App and model. */
export function UsageView(): ReactNode {
  const [chosen, setChosen] = useChosenRange();
  const [measure, setMeasure] = useState<Measure>("messages");
  const [by, setBy] = useState<By>("app");
  const ask = useCallback(
    (client: AdminClient, signal: AbortSignal): Promise<AdminUsage> => {
      const { from, to } = span(chosen.range, chosen.bucket, Date.now());
      const bucket = chosen.bucket === "day" ? "day" : "hour";
      return client.usage({ signal, from: new Date(from), to: new Date(to), bucket });
    },
    [chosen],
  );
  const query = useQuery(ask);
  return (
    <>
      <ViewHeading title="Usage" query={query} />
      <RangeForm chosen={chosen} offered={OFFERED} onChange={setChosen}>
        <Choice label="Show" value={measure} options={MEASURES} onChange={setMeasure} />
        <Choice label="Lines for each" value={by} options={BYS} onChange={setBy} />
      </RangeForm>
      <Pending {...query} />
      {query.answer !== null && (
        <>
          <CoveredNote report={query.answer} />
          <UsageChart usage={query.answer} measure={measure} by={by} chosen={chosen} />
          <Totals rows={query.answer.rows} />
        </>
      )}
    </>
  );
}

function UsageChart({
  usage,
  measure,
  by,
  chosen,
}: {
  readonly usage: AdminUsage;
  readonly measure: Measure;
  readonly by: By;
  readonly chosen: ChosenRange;
}): ReactNode {
  const { bucket, from, to, rows } = usage;
  const starts = useMemo(() => bucketStarts(Date.parse(from), Date.parse(to), bucket), [from, to, bucket]);
  const series = useMemo(
    () =>
      sumsBy(rows, starts, {
        start: ({ at }) => Date.parse(at),
        name: (row) => row[by] ?? "no model",
        value: (row) => row[measure],
      }),
    [rows, starts, by, measure],
  );
  const label = MEASURES.find(([name]) => name === measure)?.[1] ?? "";
  if (series.length === 0) return <p className={styles["empty"]}>No turn ended in this time.</p>;
  const sums = starts.map((_, index) => total(series.map(({ values }) => values[index] ?? 0)));
  const highest = peak(sums);
  const when = highest === null ? undefined : starts[highest.index];
  const most =
    highest === null || when === undefined
      ? ""
      : `, at most ${countText(highest.value)} in the ${bucket} of ${bucketText(when, bucket)}`;
  return (
    <Chart
      title={`${label} by ${by === "app" ? "App" : "model"}`}
      summary={`${chosen.range.label}: ${countText(total(sums))} in all${most}.`}
      bucket={bucket}
      starts={starts}
      series={series}
      valueText={countText}
      axisText={compactText}
    />
  );
}

type Sums = Pick<AdminUsageRow, "app" | Measure> & { readonly model: string };

function Totals({ rows }: { readonly rows: readonly AdminUsageRow[] }): ReactNode {
  const sums = new Map<string, Sums>();
  for (const row of rows) {
    const model = row.model ?? "no model";
    const key = JSON.stringify([row.app, model]);
    const before = sums.get(key);
    sums.set(key, {
      app: row.app,
      model,
      messages: row.messages + (before?.messages ?? 0),
      turns: row.turns + (before?.turns ?? 0),
      failed_turns: row.failed_turns + (before?.failed_turns ?? 0),
      input_tokens: row.input_tokens + (before?.input_tokens ?? 0),
      output_tokens: row.output_tokens + (before?.output_tokens ?? 0),
    });
  }
  return (
    <DataTable
      caption="In all, by App and model"
      isCaptionShown
      columns={COLUMNS}
      rows={[...sums.values()].toSorted((one, other) => other.turns - one.turns)}
      rowKey={({ app, model }) => JSON.stringify([app, model])}
      empty="No turn ended in this time."
    />
  );
}

const COLUMNS: readonly Column<Sums>[] = [
  { label: "App", cell: ({ app }) => app },
  { label: "Model", cell: ({ model }) => model },
  ...MEASURES.map(([measure, label]) => ({
    label,
    isNumber: true,
    cell: (sums: Sums) => countText(sums[measure]),
  })),
];
