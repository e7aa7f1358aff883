// Counts of the current minute, one row a key, for all nodes.

import type { WindowCount } from "../../core/ports/driven/rate-counters.ts";
import type { Connections } from "./connections.ts";
import { answerOf } from "./failures.ts";
import { byKey, Gathered, type Answered } from "./gathered.ts";
import { repeated } from "./group-commit.ts";
import { timeGiven } from "./numbers.ts";
import { prepare } from "./statement.ts";

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

export class RateWindows {
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

  /** Removes counts that are over. */
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

/** Of those that were counted together for a key, the first come first. */
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
