// Computes which messages of a session are rendered. assistant-ui updates every mounted message on each
// delta, so rendering hundreds of messages would slow down streaming.

/** Number of messages rendered initially, and added each time the user requests more. */
const PORTION = 50;
/** Maximum number of rendered messages while the newest one is in view. */
const MOST = 100;
/** Number of messages rendered before the target of a jump. */
const CONTEXT = 10;

/**
 * Half-open range of message indexes in the session. `to` is `null` if the range ends with the newest
 * message.
 */
export interface ShownRange {
  readonly from: number;
  readonly to: number | null;
}

/** Returns the range with the newest of `total` messages. */
export function newestRange(total: number): ShownRange {
  return { from: Math.max(0, total - PORTION), to: null };
}

/** Extends the range by earlier messages. */
export function earlierRange({ from, to }: ShownRange): ShownRange {
  return { from: Math.max(0, from - PORTION), to };
}

/** Extends the range by later messages. */
export function laterRange({ from, to }: ShownRange, total: number): ShownRange {
  return { from, to: to === null || to + PORTION >= total ? null : to + PORTION };
}

/** Returns a range that contains the message at `index`; the given range if it already does. */
export function rangeAround(index: number, range: ShownRange, total: number): ShownRange {
  const { from, to } = range;
  if (index >= from && index < (to ?? total)) return range;
  const start = Math.max(0, index - CONTEXT);
  return { from: start, to: start + MOST >= total ? null : start + MOST };
}

/**
 * Limits the range to the loaded messages, which begin at index `loaded`. Returns the newest messages if
 * those of the range were removed.
 */
export function clampedRange({ from, to }: ShownRange, loaded: number, total: number): ShownRange {
  if (from > 0 && from >= total) return clampedRange(newestRange(total), loaded, total);
  const end = to !== null && to > loaded && to < total ? to : null;
  return { from: Math.max(loaded, from), to: end };
}

/** Returns true if the number of rendered messages exceeds the maximum. */
export function isTooMany(shown: number): boolean {
  return shown > MOST;
}
