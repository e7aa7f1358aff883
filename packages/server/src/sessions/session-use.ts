import type { Clock } from "../core/ports/driven/clock.ts";

/**
 * Maximum age of the recorded use: older use is recorded again before the response. Cleanup adds this time to
 * every expiry, so it never removes a session that was used in the meantime.
 */
export const USE_RECORDED_MS = 5 * 60_000;

/**
 * A time on both clocks of this process: the wall clock may be set back, and the monotonic clock stands still
 * while the machine is suspended. The store's clock is on another machine.
 */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export function momentOf(clock: Pick<Clock, "now" | "monotonic">): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}
