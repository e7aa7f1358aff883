// Leases of running turns, and the number of waiting ones.

import type { DatabaseSync } from "node:sqlite";
import { ranUnder } from "../../core/turn.ts";
import type { TurnStore } from "../../core/ports/driven/turn-store.ts";
import { toLease, type LeaseRow } from "../rows.ts";
import type { Synchronous } from "./calls.ts";
import { prepare } from "./statement.ts";
import type { Transaction } from "./transaction.ts";

type Leases = Pick<Synchronous<TurnStore>, "countWaiting" | "renew" | "releaseDeadLeases" | "handBack">;

export function prepareLeases(database: DatabaseSync, transaction: Transaction): Leases {
  const waiting = prepare<[number], { readonly count: number }>(
    database,
    `SELECT count(*) AS count FROM (SELECT 1 FROM turns INDEXED BY turns_waiting
       WHERE ended_at IS NULL AND (runnable = 1 OR (state = 'queued' AND behind_waiting = 0)) LIMIT ?)`,
  );
  const prolong = prepare<[number, string, number, string], { readonly epoch: number }>(
    database,
    `UPDATE leases SET expires_at = ? WHERE owner = ? AND expires_at > ?
       AND epoch IN (SELECT value FROM json_each(?)) RETURNING epoch`,
  );
  return {
    countWaiting: (_at, limit) => waiting.get(limit)?.count ?? 0,
    // A lease that has run out stays so: its owner may have stopped already, and then nobody else would ever go on. One that is alone says
    // itself what still runs.
    renew: (at, owner, epochs, leaseMs) => ({
      renewed: prolong
        .all(at + leaseMs, owner, transaction.isAlone ? 0 : at, JSON.stringify(epochs))
        .map(({ epoch }) => epoch),
      busy: [],
    }),
    releaseDeadLeases: prepareReleaseDeadLeases(database),
    handBack: prepareHandBack(database),
  };
}

interface EndedLeaseRow extends LeaseRow {
  readonly session_key: number;
}

function prepareReleaseDeadLeases(database: DatabaseSync): Leases["releaseDeadLeases"] {
  const dead = prepare<[number, string | null], EndedLeaseRow>(
    database,
    "DELETE FROM leases WHERE expires_at <= ?1 OR owner <> ?2 RETURNING session_key, taken_at, expires_at",
  );
  const release = prepare<[number, number]>(
    database,
    `UPDATE turns INDEXED BY turns_open SET runnable = 1, ran_ms = ran_ms + ?
     WHERE session_key = ? AND ended_at IS NULL AND state = 'running'`,
  );
  return (at, everyOther) =>
    dead
      .all(at, everyOther)
      .reduce((count, lease) => count + release.run(ranUnder(toLease(lease), at), lease.session_key), 0);
}

function prepareHandBack(database: DatabaseSync): Leases["handBack"] {
  const release = prepare<[string, string], EndedLeaseRow>(
    database,
    `DELETE FROM leases WHERE owner = ? AND epoch IN (SELECT value FROM json_each(?))
     RETURNING session_key, taken_at, expires_at`,
  );
  const handBack = prepare<[number, number]>(
    database,
    `UPDATE turns INDEXED BY turns_open SET runnable = 1, attempts = attempts - 1, ran_ms = ran_ms + ?
     WHERE session_key = ? AND ended_at IS NULL AND state = 'running'`,
  );
  return (at, owner, epochs) =>
    release
      .all(owner, JSON.stringify(epochs))
      .reduce((count, lease) => count + handBack.run(ranUnder(toLease(lease), at), lease.session_key), 0);
}
