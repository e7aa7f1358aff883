import { InvalidArgumentError } from "commander";

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 60 * 60_000,
  d: 24 * 60 * 60_000,
  w: 7 * 24 * 60 * 60_000,
};

/** Parses a duration option such as `90d`, `24h` or `0s` into milliseconds. Throws `InvalidArgumentError`. */
export function parseDuration(text: string): number {
  const { count, unit } = /^(?<count>\d{1,5})(?<unit>[smhdw])$/.exec(text)?.groups ?? {};
  const milliseconds = unit === undefined ? undefined : UNITS[unit];
  if (milliseconds === undefined) {
    throw new InvalidArgumentError(
      "It must be a number and a unit (s, m, h, d or w), for example 90d or 24h.",
    );
  }
  return Number(count) * milliseconds;
}
