// Counts open resources such as event streams, in one row per key and node. A node writes its count, never a
// difference, so that the next write corrects a lost one.

import { HOLDER_DEAD_MS } from "../../core/ports/driven/rate-counters.ts";
import type { Connections } from "./connections.ts";
import { answerOf } from "./failures.ts";
import { byKey, Gathered, type Answered } from "./gathered.ts";
import { repeated } from "./group-commit.ts";
import { timeGiven } from "../shared.ts";
import { prepare, send, together } from "./statement.ts";

interface Hold {
  readonly key: string;
  readonly limit: number;
}

/** First key of these advisory locks. */
const LOCKS = 20_481;

// The next statement runs under the lock, and so sees the commits of other nodes.
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
       (held_places p JOIN place_holders h ON h.node = p.node AND h.seen_at > ${timeGiven("$6")} - ${HOLDER_DEAD_MS})
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
  `INSERT INTO place_holders AS h (node, seen_at) VALUES ($1, ${timeGiven("$2")})
   ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at RETURNING (h.xmax = 0) AS is_new`,
);
const forgetDead = prepare<[number | null]>(
  `WITH dead AS (DELETE FROM place_holders WHERE seen_at <= ${timeGiven("$1")} - 4 * ${HOLDER_DEAD_MS} RETURNING node)
   DELETE FROM held_places WHERE node IN (SELECT node FROM dead)`,
);
const forgetNode = prepare<[string]>(
  `WITH gone AS (DELETE FROM place_holders WHERE node = $1 RETURNING node)
   DELETE FROM held_places WHERE node IN (SELECT node FROM gone)`,
);

export class HeldPlaces {
  readonly #connections: Connections;
  readonly #node: string;
  readonly #now: () => number | null;
  readonly #held = new Map<string, number>();
  /** Keys whose stored count may be wrong. */
  readonly #unsaid = new Set<string>();
  readonly #holds = new Gathered<Hold, boolean>((holds) => this.#say(holds));

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

  async #say(holds: readonly Hold[]): Promise<readonly Answered<boolean>[]> {
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

  /** Writes this node's counts. Returns how many more slots it now holds, by key. */
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
