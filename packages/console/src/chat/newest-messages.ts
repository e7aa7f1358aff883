// How many messages of a conversation are on the page. assistant-ui tells each message that is mounted of every key and of every piece of
// an answer, so that hundreds of them at once make typing slow.

/** On the page when a conversation is opened, and so many more each time that earlier ones are asked for. */
const PORTION = 50;
/** With more than these on the page, the earlier ones are let go when the reader is at the newest. */
const MOST = 100;

/** How many of the first messages are left out when the newest are shown. */
export function leftOutAtNewest(total: number): number {
  return Math.max(0, total - PORTION);
}

/** How many are left out once earlier ones were asked for. */
export function leftOutAfterMore(leftOut: number): number {
  return Math.max(0, leftOut - PORTION);
}

/** Whether so many stand on the page that those which nobody reads should go. */
export function isTooMany(shown: number): boolean {
  return shown > MOST;
}
