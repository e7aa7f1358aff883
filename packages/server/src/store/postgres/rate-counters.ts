// Counts for rate limits that all nodes share, in unlogged tables and on separate connections, so that
// counting never waits for the disk or for a commit of a session.

import type { Clock, Timer } from "../../core/ports/driven/clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import {
  HOLDER_SIGN_MS,
  type RateCounters,
  type WindowCount,
} from "../../core/ports/driven/rate-counters.ts";
import { Connections, COUNTING_CONNECTIONS, type ConnectionOptions } from "./connections.ts";
import { answerOf } from "./failures.ts";
import { byKey, Gathered, type Answered } from "./gathered.ts";
import { repeated } from "./group-commit.ts";
import { HeldPlaces } from "./held-places.ts";
import { timeGiven } from "../shared.ts";
import { prepare } from "./statement.ts";

export interface RateCountersOptions extends ConnectionOptions {
  /** Unique name of this process. */
  readonly node: string;
  readonly timers: Pick<Clock, "every">;
  readonly logger: Logger;
  /** `null`, the default, uses the database's time, which all nodes share. */
  readonly clock?: Pick<Clock, "now"> | null;
}

const SWEEP_MS = 60_000;

/** Opens the counters of a database that a store has migrated. Rejects if it cannot be reached. */
export async function openRateCounters(options: RateCountersOptions): Promise<RateCounters> {
  const { node, timers, logger, clock = null } = options;
  const connections = new Connections({ connections: COUNTING_CONNECTIONS, ...options });
  const now = () => clock?.now() ?? null;
  const windows = new RateWindows(connections, now);
  const places = new HeldPlaces(connections, node, now);
  const complain = (error: unknown): void => {
    logger.warn({ err: error }, "could not update the shared counts of rate limits; retrying soon");
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

interface Take {
  readonly key: string;
  readonly windowMs: number;
}

const AT = timeGiven("$4");

const count = prepare<
  [readonly string[], readonly number[], readonly number[], number | null],
  { readonly key: string; readonly taken: number; readonly left_ms: number }
>(
  `INSERT INTO rate_windows AS w (key, taken, ends_at)
   SELECT key, taken, ${AT} + window_ms FROM unnest($1::text[], $2::integer[], $3::bigint[]) AS a (key, taken, window_ms)
   ORDER BY key COLLATE "C"
   ON CONFLICT (key) DO UPDATE SET
     taken = CASE WHEN w.ends_at <= ${AT} THEN excluded.taken ELSE least(w.taken, 1000000000) + excluded.taken END,
     ends_at = CASE WHEN w.ends_at <= ${AT} THEN excluded.ends_at ELSE w.ends_at END
   RETURNING key, taken, ends_at - ${AT} AS left_ms`,
);

const read = prepare<[string, number | null], { readonly taken: number; readonly left_ms: number }>(
  `SELECT taken, ends_at - ${timeGiven("$2")} AS left_ms FROM rate_windows WHERE key = $1 AND ends_at > ${timeGiven("$2")}`,
);

const PORTION = 1_000;
const forget = prepare<[number | null]>(
  `DELETE FROM rate_windows WHERE key IN (
     SELECT key FROM rate_windows WHERE ends_at <= ${timeGiven("$1")} ORDER BY ends_at LIMIT ${PORTION} FOR UPDATE SKIP LOCKED)`,
);

class RateWindows {
  readonly #connections: Connections;
  readonly #now: () => number | null;
  readonly #takes = new Gathered<Take, WindowCount>((takes) => this.#count(takes));

  constructor(connections: Connections, now: () => number | null) {
    this.#connections = connections;
    this.#now = now;
  }

  take(key: string, windowMs: number): Promise<WindowCount> {
    return this.#takes.ask({ key, windowMs });
  }

  async peek(key: string, windowMs: number): Promise<WindowCount> {
    try {
      const row = await repeated(() =>
        this.#connections.use((connection) => read.get(connection, key, this.#now())),
      );
      return row === undefined
        ? { count: 0, endsInMs: windowMs }
        : { count: row.taken, endsInMs: row.left_ms };
    } catch (error) {
      throw answerOf(error);
    }
  }

  /** Removes expired counts. */
  async sweep(): Promise<void> {
    const portion = () => this.#connections.use((connection) => forget.run(connection, this.#now()));
    while ((await portion()) === PORTION);
  }

  async #count(takes: readonly Take[]): Promise<readonly Answered<WindowCount>[]> {
    const groups = [...byKey(takes)];
    const keys = groups.map(([key]) => key);
    const numbers = groups.map(([, { length }]) => length);
    const windows = groups.map(([, [first]]) => first?.windowMs ?? 0);
    try {
      const rows = await repeated(() =>
        this.#connections.use((connection) => count.all(connection, keys, numbers, windows, this.#now())),
      );
      return inOrder(takes, new Map(rows.map((row) => [row.key, row])));
    } catch (error) {
      return takes.map(() => ({ error: answerOf(error) }));
    }
  }
}

/** Numbers the requests of each key in a batch, in order. */
function inOrder(
  takes: readonly Take[],
  windows: ReadonlyMap<string, { readonly taken: number; readonly left_ms: number }>,
): readonly Answered<WindowCount>[] {
  const behind = new Map(Array.from(byKey(takes), ([key, { length }]) => [key, length]));
  return takes.map(({ key }) => {
    const { taken = Infinity, left_ms: leftMs = 0 } = windows.get(key) ?? {};
    const left = (behind.get(key) ?? 0) - 1;
    behind.set(key, left);
    return { value: { count: taken - left, endsInMs: Math.max(1, leftMs) } };
  });
}
