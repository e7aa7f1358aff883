// Limits the number of rendered messages. assistant-ui updates every mounted message on each keystroke and
// each delta, so that hundreds of them make typing slow.

/** Messages rendered at first, and per request for earlier ones. */
const PORTION = 50;
/** Beyond this, earlier messages are removed once the reader is at the newest. */
const MOST = 100;

/** Returns how many of the first messages are left out initially. */
export function leftOutAtNewest(total: number): number {
  return Math.max(0, total - PORTION);
}

/** Returns how many are left out after a request for earlier ones. */
export function leftOutAfterMore(leftOut: number): number {
  return Math.max(0, leftOut - PORTION);
}

/** Returns true if unread earlier messages should be removed. */
export function isTooMany(shown: number): boolean {
  return shown > MOST;
}
