// Counters for rate limits that all nodes share. They use unlogged tables and separate connections, so that counting
// never waits for the disk or for a commit of a session.

import type { Clock, Timer } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import {
  HOLDER_DEAD_MS,
  HOLDER_SIGN_MS,
  type RateCounters,
  type WindowCount,
} from "@colloquy/engine/internal/core/ports/driven/rate-counters";
import { timeOrNow } from "@colloquy/engine/internal/store/shared";
import { type ConnectionOptions, Connections, COUNTING_CONNECTIONS } from "./connections.ts";
import { answerOf } from "./failures.ts";
import { repeated } from "./group-commit.ts";
import { prepare, send, together } from "./statement.ts";

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
    take: (key, windowMs, amount = 1) => windows.take({ key, windowMs, amount }),
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
  readonly amount: number;
}

const AT = timeOrNow("$4");

// A count is negative if its first window ended before something was given back; it counts as 0.
const count = prepare<
  [readonly string[], readonly number[], readonly number[], number | null],
  { readonly key: string; readonly taken: number; readonly left_ms: number }
>(
  `INSERT INTO rate_windows AS w (key, taken, ends_at)
   SELECT key, taken, ${AT} + window_ms FROM unnest($1::text[], $2::integer[], $3::bigint[]) AS a (key, taken, window_ms)
   ORDER BY key COLLATE "C"
   ON CONFLICT (key) DO UPDATE SET
     taken = CASE WHEN w.ends_at <= ${AT} THEN excluded.taken ELSE greatest(least(w.taken, 1000000000), 0) + excluded.taken END,
     ends_at = CASE WHEN w.ends_at <= ${AT} THEN excluded.ends_at ELSE w.ends_at END
   RETURNING key, taken, ends_at - ${AT} AS left_ms`,
);

const read = prepare<[string, number | null], { readonly taken: number; readonly left_ms: number }>(
  `SELECT taken, ends_at - ${timeOrNow("$2")} AS left_ms FROM rate_windows WHERE key = $1 AND ends_at > ${timeOrNow("$2")}`,
);

const PORTION = 1_000;
const forget = prepare<[number | null]>(
  `DELETE FROM rate_windows WHERE key IN (
     SELECT key FROM rate_windows WHERE ends_at <= ${timeOrNow("$1")} ORDER BY ends_at LIMIT ${PORTION} FOR UPDATE SKIP LOCKED)`,
);

/** Fixed-window counters of one minute, in one row per key. */
class RateWindows {
  readonly #connections: Connections;
  readonly #now: () => number | null;
  readonly #takes = new Batches<Take, WindowCount>((takes) => this.#count(takes));

  constructor(connections: Connections, now: () => number | null) {
    this.#connections = connections;
    this.#now = now;
  }

  take(take: Take): Promise<WindowCount> {
    return this.#takes.ask(take);
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

  async #count(takes: readonly Take[]): Promise<readonly Outcome<WindowCount>[]> {
    const groups = [...byKey(takes)];
    const keys = groups.map(([key]) => key);
    const numbers = groups.map(([, group]) => sumOf(group));
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

function sumOf(takes: readonly Take[]): number {
  return takes.reduce((sum, { amount }) => sum + amount, 0);
}

/** Returns the count after each request of a batch, in order. */
function inOrder(
  takes: readonly Take[],
  windows: ReadonlyMap<string, { readonly taken: number; readonly left_ms: number }>,
): readonly Outcome<WindowCount>[] {
  const behind = new Map(Array.from(byKey(takes), ([key, group]) => [key, sumOf(group)]));
  return takes.map(({ key, amount }) => {
    const { taken = Infinity, left_ms: leftMs = 0 } = windows.get(key) ?? {};
    const left = (behind.get(key) ?? 0) - amount;
    behind.set(key, left);
    return { value: { count: taken - left, endsInMs: Math.max(1, leftMs) } };
  });
}

interface Hold {
  readonly key: string;
  readonly limit: number;
}

/** First key of the advisory locks that serialize changes of a count. */
const LOCKS = 20_481;

// A separate statement: the next one starts under the lock, so it sees the commits of other nodes (READ COMMITTED).
const lock = prepare<[readonly string[]]>(
  `SELECT pg_advisory_xact_lock(${LOCKS}, hash) FROM
     (SELECT DISTINCT hashtext(key) AS hash FROM unnest($1::text[]) AS a (key) ORDER BY hash) AS hashes`,
);
const hold = prepare<
  [string, readonly string[], readonly number[], readonly number[], readonly number[], number | null],
  { readonly key: string; readonly held: number }
>(
  `WITH asked AS (
     SELECT * FROM unnest($2::text[], $3::integer[], $4::integer[], $5::integer[]) AS a (key, own, wanted, most)
   ), others AS (
     SELECT a.key, coalesce(sum(p.held), 0)::integer AS held FROM asked a LEFT JOIN
       (held_places p JOIN place_holders h ON h.node = p.node AND h.seen_at > ${timeOrNow("$6")} - ${HOLDER_DEAD_MS})
       ON p.key = a.key AND p.node <> $1
     GROUP BY a.key
   )
   INSERT INTO held_places (key, node, held)
   SELECT a.key, $1, greatest(a.own, least(a.own + a.wanted, a.most - o.held)) FROM asked a JOIN others o USING (key)
   ON CONFLICT (key, node) DO UPDATE SET held = excluded.held
   RETURNING key, held`,
);
const clear = prepare<[string, readonly string[]]>(
  "DELETE FROM held_places WHERE node = $1 AND key = ANY($2::text[]) AND held = 0",
);

const sign = prepare<[string, number | null], { readonly is_new: boolean }>(
  `INSERT INTO place_holders AS h (node, seen_at) VALUES ($1, ${timeOrNow("$2")})
   ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at RETURNING (h.xmax = 0) AS is_new`,
);
const forgetDead = prepare<[number | null]>(
  `WITH dead AS (DELETE FROM place_holders WHERE seen_at <= ${timeOrNow("$1")} - 4 * ${HOLDER_DEAD_MS} RETURNING node)
   DELETE FROM held_places WHERE node IN (SELECT node FROM dead)`,
);
const forgetNode = prepare<[string]>(
  `WITH gone AS (DELETE FROM place_holders WHERE node = $1 RETURNING node)
   DELETE FROM held_places WHERE node IN (SELECT node FROM gone)`,
);

/**
 * Counts held slots, such as open event streams, in one row per key and node. A node writes its absolute count rather
 * than a difference, so that the next write corrects a lost one.
 */
class HeldPlaces {
  readonly #connections: Connections;
  readonly #node: string;
  readonly #now: () => number | null;
  readonly #held = new Map<string, number>();
  /** Keys whose stored count may differ from this node's. */
  readonly #unsaid = new Set<string>();
  readonly #holds = new Batches<Hold, boolean>((holds) => this.#say(holds));

  constructor(connections: Connections, node: string, now: () => number | null) {
    this.#connections = connections;
    this.#node = node;
    this.#now = now;
  }

  hold(key: string, limit: number): Promise<boolean> {
    return this.#holds.ask({ key, limit });
  }

  release(key: string): void {
    const held = (this.#held.get(key) ?? 0) - 1;
    if (held > 0) this.#held.set(key, held);
    else this.#held.delete(key);
    this.#unsaid.add(key);
    this.#holds.ring();
  }

  /** Writes a heartbeat, and all counts if the database has lost this node's rows. */
  async sign(): Promise<void> {
    const row = await this.#connections.use((connection) => sign.get(connection, this.#node, this.#now()));
    if (row?.is_new === true) for (const key of this.#held.keys()) this.#unsaid.add(key);
    if (this.#unsaid.size > 0) this.#holds.ring();
  }

  /** Removes the counts of dead nodes. */
  async sweep(): Promise<void> {
    await this.#connections.use((connection) => forgetDead.run(connection, this.#now()));
  }

  async leave(): Promise<void> {
    await this.#connections.use((connection) => forgetNode.run(connection, this.#node));
  }

  async #say(holds: readonly Hold[]): Promise<readonly Outcome<boolean>[]> {
    const wanted = byKey(holds);
    const keys = [...new Set([...wanted.keys(), ...this.#unsaid])];
    this.#unsaid.clear();
    if (keys.length === 0) return [];
    try {
      const left = await repeated(() => this.#write(keys, wanted));
      return holds.map(({ key }) => {
        const more = left.get(key) ?? 0;
        if (more <= 0) return { value: false };
        left.set(key, more - 1);
        this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
        return { value: true };
      });
    } catch (error) {
      // The counts may have been written. The next call or heartbeat writes them again.
      for (const key of keys) this.#unsaid.add(key);
      return holds.map(() => ({ error: answerOf(error) }));
    }
  }

  /** Writes this node's counts. Returns the increase of its slots, by key. */
  async #write(
    keys: readonly string[],
    wanted: ReadonlyMap<string, readonly Hold[]>,
  ): Promise<Map<string, number>> {
    const own = keys.map((key) => this.#held.get(key) ?? 0);
    const counts = keys.map((key) => wanted.get(key)?.length ?? 0);
    const limits = keys.map((key) => wanted.get(key)?.[0]?.limit ?? 0);
    const rows = await this.#connections.use(async (connection) => {
      const [, , written] = await together([
        send(connection, "BEGIN"),
        lock.all(connection, keys),
        hold.all(connection, this.#node, keys, own, counts, limits, this.#now()),
        clear.run(connection, this.#node, keys),
        send(connection, "COMMIT"),
      ]);
      return written;
    });
    const before = new Map(keys.map((key, index) => [key, own[index] ?? 0]));
    return new Map(rows.map(({ key, held }) => [key, held - (before.get(key) ?? 0)]));
  }
}

type Outcome<Answer> = { readonly value: Answer } | { readonly error: unknown };

interface Waiting<Request, Answer> {
  readonly request: Request;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

const MOST_TOGETHER = 1_000;

/**
 * Batches requests into one statement: those of one turn of the event loop, or those that arrive while the
 * previous statement runs.
 */
class Batches<Request, Answer> {
  readonly #run: (requests: readonly Request[]) => Promise<readonly Outcome<Answer>[]>;
  readonly #waiting: Waiting<Request, Answer>[] = [];
  #isRung = false;
  #isBusy = false;

  /** `run` returns the results of all requests in order, and never rejects. */
  constructor(run: (requests: readonly Request[]) => Promise<readonly Outcome<Answer>[]>) {
    this.#run = run;
  }

  ask(request: Request): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({ request, resolve, reject });
    this.#schedule();
    return promise;
  }

  /** Schedules a run, even without requests. */
  ring(): void {
    this.#isRung = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(() => void this.#next());
  }

  async #next(): Promise<void> {
    this.#isRung = false;
    const together = this.#waiting.splice(0, MOST_TOGETHER);
    const answers = await this.#run(together.map(({ request }) => request));
    together.forEach(({ resolve, reject }, index) => {
      const answer = answers[index];
      if (answer !== undefined && "value" in answer) resolve(answer.value);
      else reject(answer?.error);
    });
    this.#isBusy = false;
    if (this.#waiting.length > 0 || this.#isRung) this.#schedule();
  }
}

function byKey<Request extends { readonly key: string }>(
  requests: readonly Request[],
): ReadonlyMap<string, readonly Request[]> {
  return Map.groupBy(requests, ({ key }) => key);
}
