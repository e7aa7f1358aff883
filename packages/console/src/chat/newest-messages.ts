// Limits the number of rendered messages. assistant-ui updates every mounted message on each keystroke and
// each delta, so that hundreds of them make typing slow.

/** Messages rendered at first, and per request for earlier ones. */
const PORTION = 50;
/** Beyond this, earlier messages are removed once the reader is at the newest. */
const MOST = 100;

/** Returns the number of earliest messages that are initially not rendered. */
export function hiddenInitially(total: number): number {
  return Math.max(0, total - PORTION);
}

/** Returns the number of messages that are not rendered after a request for earlier ones. */
export function hiddenAfterMore(leftOut: number): number {
  return Math.max(0, leftOut - PORTION);
}

/** Returns true if earlier messages should no longer be rendered. */
export function isTooMany(shown: number): boolean {
  return shown > MOST;
}
