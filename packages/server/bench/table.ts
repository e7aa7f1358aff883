import { median, spread } from "./statistics.ts";

/** One line of the performance table. */
export interface Row {
  readonly name: string;
  /** Colloquy's result with its unit. */
  readonly colloquy: string;
  readonly control: string;
  /** The value compared with the target, with its spread over the rounds. */
  readonly ratio: string;
  readonly target: string;
  readonly met: boolean;
}

/** Formats the table in Markdown. */
export function formatTable(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ name, colloquy, control, ratio, target, met }) =>
      `| ${name} | ${colloquy} | ${control} | ${ratio} | ${target} | ${met ? "yes" : "**no**"} |`,
  );
  return ["| Row | Colloquy | Control | Ratio | Target | Met |", "|---|---|---|---|---|---|", ...lines].join(
    "\n",
  );
}

/** Returns the median of the rounds and, in brackets, the least and the greatest. */
export function formatRounds(values: readonly number[], digits = 2): string {
  const [least, greatest] = spread(values).map((value) => value.toFixed(digits));
  return values.length === 1
    ? median(values).toFixed(digits)
    : `${median(values).toFixed(digits)} (${least ?? ""} to ${greatest ?? ""})`;
}

/** Formats a number with thousands separators, such as `12,345/s`. */
export function formatCount(value: number, unit: string): string {
  return `${Math.round(value).toLocaleString("en-US")}${unit}`;
}

export function formatMs(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} ms`;
}
