// Turns that wait, and the leases of those that run.

import type { DatabaseSync } from "node:sqlite";
import { availableModel } from "../../core/commands/available-model.ts";
import { ranUnder } from "../../core/commands/run-time.ts";
import { decideClaim } from "../../core/commands/turns.ts";
import type { TurnStore } from "../../core/ports/driven/turn-store.ts";
import { providerOf } from "../../core/rig.ts";
import { appOf } from "../../core/session.ts";
import { toLease, type LeaseRow } from "../rows.ts";
import type { Synchronous } from "./calls.ts";
import { prepare } from "./statement.ts";
import { answer, type Transaction } from "./transaction.ts";

type Queue = Pick<
  Synchronous<TurnStore>,
  "claim" | "countWaiting" | "renew" | "releaseDeadLeases" | "handBack"
>;

export function prepareQueue(database: DatabaseSync, transaction: Transaction): Queue {
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
    claim: prepareClaim(database, transaction),
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

function prepareClaim(database: DatabaseSync, transaction: Transaction): Queue["claim"] {
  const { facts, draft, write } = transaction;
  interface RunnableRow {
    readonly session_key: number;
    readonly number: number;
  }
  const runnable = prepare<[number], RunnableRow>(
    database,
    `SELECT session_key, number FROM turns INDEXED BY turns_runnable
     WHERE runnable = 1 ORDER BY enqueued_at, session_key, number LIMIT ?`,
  );
  const runnableElsewhere = prepare<[string, number], RunnableRow>(
    database,
    `SELECT t.session_key, t.number FROM turns t INDEXED BY turns_runnable CROSS JOIN sessions s ON s.key = t.session_key
     WHERE t.runnable = 1
       AND substr(s.model, 1, instr(s.model || '/', '/') - 1) NOT IN (SELECT value FROM json_each(?))
     ORDER BY t.enqueued_at, t.session_key, t.number LIMIT ?`,
  );
  return (at, owner, agentMessageIds, fullProviders, models) => {
    const count = agentMessageIds.length;
    const rows =
      fullProviders.length === 0
        ? runnable.all(count)
        : runnableElsewhere.all(JSON.stringify(fullProviders), count);
    return rows.flatMap(({ session_key, number }, index) => {
      const session = facts.sessionByKey(session_key);
      const openTurns = session === null ? [] : facts.openTurns(session);
      const open = openTurns.find(({ turn }) => turn.number === number);
      const agentMessageId = agentMessageIds[index];
      if (session === null || open === undefined || agentMessageId === undefined) {
        throw new Error(`Turn ${number} of session ${session_key} is runnable, but not open`);
      }
      const ofApp = models[appOf(session)] ?? [];
      // The default that a session goes on with may be on a full provider where its own rig was not.
      if (fullProviders.includes(providerOf(availableModel(session, ofApp)))) return [];
      const change = draft(session, at);
      const started = decideClaim(change, openTurns, open, { owner, agentMessageId }, ofApp);
      write(session, change);
      return [answer(facts, change, started, false, false)];
    });
  };
}

interface EndedLeaseRow extends LeaseRow {
  readonly session_key: number;
}

function prepareReleaseDeadLeases(database: DatabaseSync): Queue["releaseDeadLeases"] {
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

function prepareHandBack(database: DatabaseSync): Queue["handBack"] {
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
