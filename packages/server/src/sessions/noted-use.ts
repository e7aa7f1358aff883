// When the use of a session was noted in the store, by the clocks of this process: the store's time is that of another machine, and only a
// difference on one clock says how long ago something was.

import type { Clock } from "../core/ports/driven/clock.ts";

/**
 * Use is noted before the answer when it was noted longer ago than this. Cleanup adds the same to every expiry, so that it never
 * takes a session that was used meanwhile, without asking anybody's memory.
 */
export const USE_NOTED_MS = 5 * 60_000;

type Clocks = Pick<Clock, "now" | "monotonic">;

/** A moment by both clocks: the one may be set back, the other stands still while the machine is suspended. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export function momentOf(clock: Clocks): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

/** Whether use that was noted then need not be noted now; `null` where nobody knows that it ever was. */
export function isNoted(notedAt: Moment | null, clock: Clocks): boolean {
  if (notedAt === null) return false;
  return clock.monotonic() - notedAt.monotonic < USE_NOTED_MS && clock.now() - notedAt.wall < USE_NOTED_MS;
}
