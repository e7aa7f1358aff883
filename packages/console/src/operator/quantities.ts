// Numbers in the reader's locale.

const COUNT = new Intl.NumberFormat();
const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

export function countText(count: number): string {
  return COUNT.format(count);
}

/** For the axis of a chart, where space is scarce. */
export function compactText(count: number): string {
  return COMPACT.format(count);
}

/** Formats a count that stops at `countedTo`, which stands for at least as many. */
export function boundedText(count: number, countedTo: number): string {
  return count >= countedTo ? `${COUNT.format(countedTo)} or more` : COUNT.format(count);
}

const BYTE_UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;

export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${BYTE_UNITS[power] ?? ""}`;
}
