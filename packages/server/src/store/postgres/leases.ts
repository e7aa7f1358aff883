// Leases of running turns, and the number of waiting ones.

import { ranUnder } from "../../core/turn.ts";
import type { TurnStore } from "../../core/ports/driven/turn-store.ts";
import { toLease, type LeaseRow } from "../rows.ts";
import type { Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import type { Patience } from "./session-locks.ts";
import { prepare } from "./statement.ts";

type Leases = Pick<TurnStore, "countWaiting" | "renew" | "releaseDeadLeases" | "handBack">;

const waiting = prepare<[number], { readonly count: number }>(
  `SELECT count(*) AS count FROM (SELECT 1 FROM turns
     WHERE ended_at IS NULL AND (runnable = 1 OR (state = 'queued' AND behind_waiting = 0)) LIMIT $1) AS waiting`,
);
// A lease that has run out stays so: its owner may have stopped already, and then nobody else would ever go on.
const OWN = "FROM leases WHERE owner = $2 AND expires_at > $3 AND epoch = ANY($4::bigint[])";
const prolong = prepare<
  [number, string, number, readonly number[]],
  { readonly epoch: number; readonly is_renewed: boolean }
>(
  `WITH own AS MATERIALIZED (SELECT epoch ${OWN}),
   free AS (SELECT session_key ${OWN} FOR UPDATE SKIP LOCKED),
   renewed AS (
     UPDATE leases SET expires_at = $1 WHERE session_key IN (SELECT session_key FROM free) RETURNING epoch
   )
   SELECT epoch, epoch IN (SELECT epoch FROM renewed) AS is_renewed FROM own`,
);

export function leasesOf(calls: Calls): Leases {
  return {
    countWaiting: (limit) =>
      calls.look("claims", async (connection) => (await waiting.get(connection, limit))?.count ?? 0),
    renew: (owner, epochs, leaseMs) =>
      calls.alone("leases", async (connection, at) => {
        const own = await prolong.all(connection, at + leaseMs, owner, at, epochs);
        const of = (isRenewed: boolean) =>
          own.flatMap(({ epoch, is_renewed }) => (is_renewed === isRenewed ? [epoch] : []));
        return { renewed: of(true), busy: of(false) };
      }),
    // Not behind a renewal, nor the other way round.
    releaseDeadLeases: (everyOther) =>
      calls.alone("dead leases", (connection, at) => releaseDeadLeases(connection, at, everyOther)),
    handBack: async (owner, epochs) => {
      const give = (patience: Patience) =>
        calls.alone("leases", (connection, at) => handBack({ connection, at, owner, epochs, patience }));
      const free = await give("passes over");
      // Whoever holds one of them does not keep the others from being given back.
      return free === epochs.length ? free : free + (await give("waits"));
    },
  };
}

const RETURNED = "UPDATE turns AS turn SET runnable = 1, ran_ms = turn.ran_ms + ended.ran_ms";
const RUNNING = `FROM unnest($1::bigint[], $2::bigint[]) AS ended (session_key, ran_ms)
  WHERE turn.session_key = ended.session_key AND turn.ended_at IS NULL AND turn.state = 'running'`;
const release = prepare<[readonly number[], readonly number[]]>(`${RETURNED} ${RUNNING}`);
const releaseUncounted = prepare<[readonly number[], readonly number[]]>(
  `${RETURNED}, attempts = turn.attempts - 1 ${RUNNING}`,
);

interface EndedLeaseRow extends LeaseRow {
  readonly session_key: number;
}

/** Sessions and how long their turns ran under leases that end at `at`, as `release` takes them. */
function ranOf(ended: readonly EndedLeaseRow[], at: number): [readonly number[], readonly number[]] {
  return [ended.map(({ session_key }) => session_key), ended.map((lease) => ranUnder(toLease(lease), at))];
}

const DEAD = "(expires_at <= $1 OR owner <> $2::text)";
// A session that somebody holds is in use, and so is a lease: the next look, a second later, finds it again.
const lockDead = prepare<[number, string | null], { readonly key: number }>(
  `SELECT s.key FROM leases JOIN sessions s ON s.key = session_key WHERE ${DEAD}
   ORDER BY s.id FOR UPDATE OF s, leases SKIP LOCKED`,
);
const removeDead = prepare<[number, string | null, readonly number[]], EndedLeaseRow>(
  `DELETE FROM leases WHERE ${DEAD} AND session_key = ANY($3::bigint[]) RETURNING session_key, taken_at, expires_at`,
);

async function releaseDeadLeases(
  connection: Connection,
  at: number,
  everyOther: string | null,
): Promise<number> {
  const locked = await lockDead.all(connection, at, everyOther);
  if (locked.length === 0) return 0;
  const keys = locked.map(({ key }) => key);
  const removed = await removeDead.all(connection, at, everyOther, keys);
  return await release.run(connection, ...ranOf(removed, at));
}

const HELD = "owner = $1 AND epoch = ANY($2::bigint[])";
const LOCK_HELD = `SELECT s.key FROM leases JOIN sessions s ON s.key = session_key
   WHERE owner = $1 AND leases.epoch = ANY($2::bigint[]) ORDER BY s.id FOR UPDATE OF s, leases`;
const lockHeld = {
  waits: prepare<[string, readonly number[]], { readonly key: number }>(LOCK_HELD),
  "passes over": prepare<[string, readonly number[]], { readonly key: number }>(`${LOCK_HELD} SKIP LOCKED`),
};
const removeHeld = prepare<[string, readonly number[], readonly number[]], EndedLeaseRow>(
  `DELETE FROM leases WHERE ${HELD} AND session_key = ANY($3::bigint[]) RETURNING session_key, taken_at, expires_at`,
);

interface HandingBack {
  readonly connection: Connection;
  readonly at: number;
  readonly owner: string;
  readonly epochs: readonly number[];
  readonly patience: Patience;
}

async function handBack({ connection, at, owner, epochs, patience }: HandingBack): Promise<number> {
  const locked = await lockHeld[patience].all(connection, owner, epochs);
  if (locked.length === 0) return 0;
  const keys = locked.map(({ key }) => key);
  const removed = await removeHeld.all(connection, owner, epochs, keys);
  return await releaseUncounted.run(connection, ...ranOf(removed, at));
}
