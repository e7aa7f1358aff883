import { median, percentile } from "../statistics.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";

/** Delays in milliseconds of Colloquy and of its control. */
export type Rounds = readonly { readonly colloquy: readonly number[]; readonly control: readonly number[] }[];

/** Compares p99 values; the median of the rounds' ratios may be at most `most`. */
export function delayRow(name: string, rounds: Rounds, most: number): Row {
  const ratios = rounds.map((round) => percentile(round.colloquy, 0.99) / percentile(round.control, 0.99));
  const describe = (of: "colloquy" | "control") => {
    const p99 = median(rounds.map((round) => percentile(round[of], 0.99)));
    return `${formatMs(p99)} (p50 ${formatMs(median(rounds.flatMap((round) => round[of])))})`;
  };
  return {
    name,
    colloquy: describe("colloquy"),
    control: describe("control"),
    ratio: formatRounds(ratios),
    target: `at most ${most}`,
    met: median(ratios) <= most,
  };
}
