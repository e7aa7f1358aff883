// Counts for rate limits, in the database that all nodes have in common: in tables that are not logged, on connections of their own, so that
// counting waits for no disk and for no commit of a session.

import type { Clock, Timer } from "../../core/ports/driven/clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import { HOLDER_SIGN_MS, type RateCounters } from "../../core/ports/driven/rate-counters.ts";
import { Connections, COUNTING_CONNECTIONS, type ConnectionOptions } from "./connections.ts";
import { HeldPlaces } from "./held-places.ts";
import { RateWindows } from "./rate-windows.ts";

export interface RateCountersOptions extends ConnectionOptions {
  /** Name of this process, no other's before. */
  readonly node: string;
  readonly timers: Pick<Clock, "every">;
  readonly logger: Logger;
  /** Every count happens at this clock's time; `null`, the default, for the database's, which all nodes have in common. */
  readonly clock?: Pick<Clock, "now"> | null;
}

const SWEEP_MS = 60_000;

/** Opens the counters of a database that a store has been opened on. Rejects when it cannot be reached. */
export async function openRateCounters(options: RateCountersOptions): Promise<RateCounters> {
  const { node, timers, logger, clock = null } = options;
  const connections = new Connections({ connections: COUNTING_CONNECTIONS, ...options });
  const now = () => clock?.now() ?? null;
  const windows = new RateWindows(connections, now);
  const places = new HeldPlaces(connections, node, now);
  const complain = (error: unknown): void => {
    logger.warn({ err: error }, "the counts for rate limits could not be kept up; it is tried again soon");
  };
  try {
    await places.sign();
  } catch (error) {
    await connections.end();
    throw error;
  }
  const started: readonly Timer[] = [
    timers.every(HOLDER_SIGN_MS, () => void places.sign().catch(complain)),
    timers.every(SWEEP_MS, () => void Promise.all([windows.sweep(), places.sweep()]).catch(complain)),
  ];
  return {
    take: (key, windowMs) => windows.take(key, windowMs),
    peek: (key, windowMs) => windows.peek(key, windowMs),
    hold: (key, limit) => places.hold(key, limit),
    release: (key) => places.release(key),
    close: async () => {
      for (const timer of started) timer.stop();
      await places.leave().catch(complain);
      await connections.end();
    },
  };
}
