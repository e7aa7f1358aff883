// Leases of running turns, the number of waiting turns, and the history of a turn's session.

import { turnThatRuns } from "../../core/commands/command.ts";
import { ranUnder } from "../../core/turn.ts";
import type { PastTurn, TurnStore } from "../../core/ports/driven/store.ts";
import {
  HAS_REASONING,
  type LeaseRow,
  type MessageRow,
  type ReasonedRow,
  type StepRow,
  toLease,
  toPastTurn,
  toReasoning,
  type TurnRow,
} from "../rows.ts";
import type { Synchronous } from "./calls.ts";
import type { Prepare } from "./database.ts";
import type { Transaction } from "./transaction.ts";

export function prepareTurns(prepare: Prepare, transaction: Transaction): Synchronous<TurnStore> {
  return {
    ...prepareLeases(prepare, transaction),
    reasoning: prepareReasoning(prepare),
    history: prepareHistory(prepare, transaction),
  };
}

type Leases = Pick<Synchronous<TurnStore>, "countWaiting" | "renew" | "releaseDeadLeases" | "handBack">;

function prepareLeases(prepare: Prepare, transaction: Transaction): Leases {
  const waiting = prepare<
    [number],
    { readonly count: number }
  >(`SELECT count(*) AS count FROM (SELECT 1 FROM turns INDEXED BY turns_waiting
       WHERE ended_at IS NULL AND (runnable = 1 OR (state = 'queued' AND behind_waiting = 0)) LIMIT ?)`);
  const prolong = prepare<
    [number, string, number, string],
    { readonly epoch: number }
  >(`UPDATE leases SET expires_at = ? WHERE owner = ? AND expires_at > ?
       AND epoch IN (SELECT value FROM json_each(?)) RETURNING epoch`);
  return {
    countWaiting: (_at, limit) => waiting.get(limit)?.count ?? 0,
    // An expired lease is not renewed: its owner may have stopped the turn, which no other process could then
    // continue. A single process knows which turns it still runs.
    renew: (at, owner, epochs, leaseMs) => ({
      renewed: prolong
        .all(at + leaseMs, owner, transaction.isAlone ? 0 : at, JSON.stringify(epochs))
        .map(({ epoch }) => epoch),
      busy: [],
    }),
    releaseDeadLeases: prepareReleaseDeadLeases(prepare),
    handBack: prepareHandBack(prepare),
  };
}

interface EndedLeaseRow extends LeaseRow {
  readonly session_key: number;
}

function prepareReleaseDeadLeases(prepare: Prepare): Leases["releaseDeadLeases"] {
  const dead = prepare<[number, string | null], EndedLeaseRow>(
    "DELETE FROM leases WHERE expires_at <= ?1 OR owner <> ?2 RETURNING session_key, taken_at, expires_at",
  );
  const release = prepare<
    [number, number]
  >(`UPDATE turns INDEXED BY turns_open SET runnable = 1, ran_ms = ran_ms + ?
     WHERE session_key = ? AND ended_at IS NULL AND state = 'running'`);
  return (at, everyOther) =>
    dead
      .all(at, everyOther)
      .reduce((count, lease) => count + release.run(ranUnder(toLease(lease), at), lease.session_key), 0);
}

function prepareHandBack(prepare: Prepare): Leases["handBack"] {
  const release = prepare<
    [string, string],
    EndedLeaseRow
  >(`DELETE FROM leases WHERE owner = ? AND epoch IN (SELECT value FROM json_each(?))
     RETURNING session_key, taken_at, expires_at`);
  const handBack = prepare<
    [number, number]
  >(`UPDATE turns INDEXED BY turns_open SET runnable = 1, attempts = attempts - 1, ran_ms = ran_ms + ?
     WHERE session_key = ? AND ended_at IS NULL AND state = 'running'`);
  return (at, owner, epochs) =>
    release
      .all(owner, JSON.stringify(epochs))
      .reduce((count, lease) => count + handBack.run(ranUnder(toLease(lease), at), lease.session_key), 0);
}

function prepareReasoning(prepare: Prepare): Synchronous<TurnStore>["reasoning"] {
  const reasoned = prepare<[string, string, string], ReasonedRow>(
    `SELECT turn, number, parts FROM steps
     WHERE session_key = (SELECT key FROM sessions WHERE id = ? AND life = ?)
       AND turn IN (SELECT value FROM json_each(?)) AND ${HAS_REASONING} ORDER BY turn, number`,
  );
  return (_at, id, incarnation, turns) =>
    reasoned.all(id, incarnation, JSON.stringify(turns)).map(toReasoning);
}

/** Reads a session's history backwards until it is long enough. */
function prepareHistory(prepare: Prepare, { facts }: Transaction): Synchronous<TurnStore>["history"] {
  // Row by row, so that the turns that do not fit are never read.
  const before = prepare<[number, number], TurnRow>(`SELECT * FROM turns WHERE session_key = ? AND number < ?
       AND NOT (state = 'interrupted' AND agent_position IS NULL)
     ORDER BY number DESC LIMIT 1`);
  const message = prepare<[number, number | null], MessageRow>(
    "SELECT * FROM messages WHERE session_key = ? AND position = ?",
  );
  const steps = prepare<[number, number], StepRow>(
    "SELECT * FROM steps WHERE session_key = ? AND turn = ? ORDER BY number",
  );
  const read = (key: number, turn: TurnRow) => {
    const user = message.get(key, turn.user_position);
    const agent = message.get(key, turn.agent_position) ?? null;
    return toPastTurn(key, turn, { user, agent, steps: steps.all(key, turn.number) });
  };
  return (_at, identity, maxCharacters) => {
    const session = facts.sessionByKey(identity.sessionKey);
    if (session === null || turnThatRuns(session, facts.openTurns(session), identity) === null) return null;
    const key = identity.sessionKey;
    const newestFirst: PastTurn[] = [];
    let characters = 0;
    let row = before.get(key, identity.number + 1);
    while (row !== undefined) {
      const turn = read(key, row);
      characters += turn.characters;
      if (newestFirst.length > 0 && characters > maxCharacters) break;
      newestFirst.push(turn.past);
      row = before.get(key, row.number);
    }
    return newestFirst.toReversed();
  };
}
