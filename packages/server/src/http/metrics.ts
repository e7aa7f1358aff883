// Requests counted by route, method and class of status. A request adds to plain numbers, which become samples when they are
// scraped: prom-client's own bookkeeping costs a tenth of an answer that is sent from memory.

import {
  Counter,
  Histogram,
  collectDefaultMetrics,
  type MetricValueWithName,
  type Registry,
} from "prom-client";

export interface HttpMetrics {
  /** Counts an answer. `route` is the pattern of the path, never the path itself; `milliseconds` is how long it took. */
  answered(method: string, route: string, status: number, milliseconds: number): void;
}

const DURATION = "colloquy_http_request_duration_seconds";
/** Upper bounds of the histogram, in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60] as const;
const LABELS = ["method", "route", "status"] as const;
type Label = (typeof LABELS)[number];

interface Cell {
  readonly labels: Readonly<Record<Label, string>>;
  /** Answers by bucket, the last one for what took longer than every bound. */
  readonly buckets: number[];
  seconds: number;
}

/** Registers the request metrics and those of the process. */
export function createHttpMetrics(register: Registry): HttpMetrics {
  const cells = new Map<string, Map<string, Cell[]>>();
  const all: Cell[] = [];
  collectDefaultMetrics({ register });
  new Counter({
    name: "colloquy_http_requests_total",
    help: "Answered requests",
    labelNames: LABELS,
    registers: [register],
    collect() {
      this.reset();
      for (const { labels, buckets } of all) this.inc(labels, sum(buckets));
    },
  });
  register.registerMetric(new CellHistogram(all));
  return {
    answered(method, route, status, milliseconds) {
      const family = Math.trunc(status / 100);
      const cell = cells.get(route)?.get(method)?.[family] ?? addCell(method, route, family);
      const seconds = milliseconds / 1000;
      let bucket = 0;
      while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] ?? 0)) bucket += 1;
      cell.buckets[bucket] = (cell.buckets[bucket] ?? 0) + 1;
      cell.seconds += seconds;
    },
  };

  function addCell(method: string, route: string, family: number): Cell {
    const cell: Cell = {
      labels: { method, route, status: `${family}xx` },
      buckets: Array<number>(BOUNDS.length + 1).fill(0),
      seconds: 0,
    };
    const byMethod = cells.get(route) ?? new Map<string, Cell[]>();
    const byFamily = byMethod.get(method) ?? [];
    byFamily[family] = cell;
    cells.set(route, byMethod.set(method, byFamily));
    all.push(cell);
    return cell;
  }
}

/** A histogram that reads its samples from the cells. */
class CellHistogram extends Histogram<Label | "le"> {
  readonly #cells: readonly Cell[];

  constructor(cells: readonly Cell[]) {
    super({ name: DURATION, help: DURATION, labelNames: LABELS, registers: [] });
    this.#cells = cells;
  }

  /** What both of prom-client's formats are made from; not in its types. */
  async getForPromString(): Promise<object> {
    return {
      name: DURATION,
      help: "Time from the head of a request to the head of its answer, in seconds",
      type: "histogram",
      aggregator: "sum",
      values: this.#cells.flatMap(samples),
    };
  }
}

function samples({ labels, buckets, seconds }: Cell): MetricValueWithName<Label | "le">[] {
  let below = 0;
  const lines: MetricValueWithName<Label | "le">[] = buckets.map((count, bucket) => {
    below += count;
    return {
      metricName: `${DURATION}_bucket`,
      labels: { ...labels, le: BOUNDS[bucket] ?? "+Inf" },
      value: below,
    };
  });
  lines.push({ metricName: `${DURATION}_sum`, labels, value: seconds });
  lines.push({ metricName: `${DURATION}_count`, labels, value: below });
  return lines;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
