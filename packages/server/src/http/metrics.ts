// Counts requests by operation and status class. Requests add to plain numbers, which become samples when
// scraped: prom-client's bookkeeping would cost a tenth of a response from memory. Labels are bounded by the
// routes, never by client input (metrics.test.ts).

import {
  Counter,
  Histogram,
  collectDefaultMetrics,
  type MetricValueWithName,
  type Registry,
} from "prom-client";

/** Route label of unmatched requests. */
export const NO_ROUTE = "(none)";

export type HttpMetrics = ReturnType<typeof createHttpMetrics>;

const DURATION = "colloquy_http_request_duration_seconds";
/** Upper bounds of the histogram, in seconds. Each costs one series per operation. */
const BOUNDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10] as const;
type OperationLabel = "method" | "route";

/** Counts of one operation. */
interface Cell {
  readonly labels: Readonly<Record<OperationLabel, string>>;
  /** Number of responses by the first digit of their status. */
  readonly families: number[];
  /** Number of responses by bucket; the last bucket is above every bound. */
  readonly buckets: number[];
  seconds: number;
}

/** Registers the request metrics and those of the process. */
export function createHttpMetrics(register: Registry) {
  const cells = new Map<string, Map<string, Cell>>();
  const all: Cell[] = [];
  collectDefaultMetrics({ register });
  // Gauges with the suffix of counters, which `promtool check metrics` refuses.
  for (const kind of ["handles", "requests", "resources"])
    register.removeSingleMetric(`nodejs_active_${kind}_total`);
  new Counter({
    name: "colloquy_http_requests_total",
    help: "Answered requests",
    labelNames: ["method", "route", "status"],
    registers: [register],
    collect() {
      this.reset();
      for (const { labels, families } of all)
        families.forEach((count, family) => this.inc({ ...labels, status: `${family}xx` }, count));
    },
  });
  register.registerMetric(new CellHistogram(all));
  addCell("any", NO_ROUTE);
  return {
    /** Adds an operation with all counts at 0, so that its first request is visible as a change. */
    known(methods: readonly string[], route: string): void {
      for (const method of methods)
        if (method !== "HEAD" && cells.get(route)?.has(method) !== true) addCell(method, route);
    },
    /** Counts a response. `route` is the pattern, never the path; `milliseconds` is the duration. */
    answered(method: string, route: string, status: number, milliseconds: number): void {
      // HEAD counts as GET. Without a route, the method may be any text of the client.
      const counted = route === NO_ROUTE ? "any" : method === "HEAD" ? "GET" : method;
      const cell = cells.get(route)?.get(counted) ?? addCell(counted, route);
      const family = Math.trunc(status / 100);
      const seconds = milliseconds / 1000;
      let bucket = 0;
      while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] ?? 0)) bucket += 1;
      cell.families[family] = (cell.families[family] ?? 0) + 1;
      cell.buckets[bucket] = (cell.buckets[bucket] ?? 0) + 1;
      cell.seconds += seconds;
    },
  };

  function addCell(method: string, route: string): Cell {
    const buckets = Array<number>(BOUNDS.length + 1).fill(0);
    const families = Object.assign<number[], Record<number, number>>([], { 2: 0, 4: 0, 5: 0 });
    const cell: Cell = { labels: { method, route }, families, buckets, seconds: 0 };
    const byMethod = cells.get(route) ?? new Map<string, Cell>();
    cells.set(route, byMethod.set(method, cell));
    all.push(cell);
    return cell;
  }
}

/** Histogram over the cells. */
class CellHistogram extends Histogram<OperationLabel | "le"> {
  readonly #cells: readonly Cell[];

  constructor(cells: readonly Cell[]) {
    super({ name: DURATION, help: DURATION, labelNames: ["method", "route"], registers: [] });
    this.#cells = cells;
  }

  /** Source of both of prom-client's formats; missing in its types. */
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

function samples({ labels, buckets, seconds }: Cell): MetricValueWithName<OperationLabel | "le">[] {
  let below = 0;
  const lines: MetricValueWithName<OperationLabel | "le">[] = buckets.map((count, bucket) => {
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
