import { median, percentile } from "../statistics.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";

/** Delays in milliseconds, those of Colloquy and of its control in turn. */
export type Rounds = readonly { readonly colloquy: readonly number[]; readonly control: readonly number[] }[];

/** Their p99, which is to be at most `most` times that of the control: the median of the rounds' ratios counts. */
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
