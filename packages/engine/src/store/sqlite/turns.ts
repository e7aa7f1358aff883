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
    checkpoint: prepareCheckpoint(prepare, transaction),
    reasoning: prepareReasoning(prepare),
    ...prepareHistory(prepare, transaction),
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

function prepareCheckpoint(prepare: Prepare, { isAlone }: Transaction): Synchronous<TurnStore>["checkpoint"] {
  // The lease has the epoch of the session while the turn runs.
  const held = prepare<[number, number, number], { readonly epoch: number }>(
    "SELECT epoch FROM leases WHERE session_key = ? AND epoch = ? AND expires_at > ?",
  );
  const goBack = prepare<[number, number, number]>(
    `DELETE FROM checkpoints WHERE session_key = ? AND turn = ? AND "offset" >= ?`,
  );
  const insert = prepare<[number, number, number, string]>(
    `INSERT INTO checkpoints (session_key, turn, "offset", text) VALUES (?, ?, ?, ?)`,
  );
  return (at, pieces) =>
    pieces.map(({ turn, offset, text }) => {
      const { sessionKey: key, number, epoch } = turn;
      // A single process knows which turns it still runs.
      if (held.get(key, epoch, isAlone ? 0 : at) === undefined) return false;
      goBack.run(key, number, offset);
      insert.run(key, number, offset, text);
      return true;
    });
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

/** Reads a session's turns, newest first, up to a total length. */
function prepareHistory(
  prepare: Prepare,
  { facts }: Transaction,
): Pick<Synchronous<TurnStore>, "history" | "ended"> {
  // Row by row, so that the turns that do not fit are never read.
  const before = prepare<[number, number], TurnRow>(`SELECT * FROM turns WHERE session_key = ? AND number < ?
       AND NOT (state = 'interrupted' AND agent_position IS NULL)
     ORDER BY number DESC LIMIT 1`);
  const message = prepare<[number, number | null], MessageRow>(
    "SELECT * FROM messages WHERE session_key = ? AND position = ?",
  );
  const between = prepare<[number, number, number, number], MessageRow>(
    "SELECT * FROM messages WHERE session_key = ? AND turn = ? AND position > ? AND position < ? ORDER BY position",
  );
  const steps = prepare<[number, number], StepRow>(
    "SELECT * FROM steps WHERE session_key = ? AND turn = ? ORDER BY number",
  );
  const newestSummary = prepare<
    [number, number],
    { readonly turn: number }
  >(`SELECT turn FROM messages INDEXED BY messages_with_summary
     WHERE session_key = ? AND summary IS NOT NULL AND turn < ? ORDER BY position DESC LIMIT 1`);
  const session = prepare<[string, string], { readonly key: number }>(
    "SELECT key FROM sessions WHERE id = ? AND life = ?",
  );
  const firstOpen = prepare<[number], { readonly number: number | null }>(
    "SELECT min(number) AS number FROM turns INDEXED BY turns_open WHERE session_key = ? AND ended_at IS NULL",
  );
  const read = (key: number, turn: TurnRow) => {
    const user = message.get(key, turn.user_position);
    const agent = message.get(key, turn.agent_position) ?? null;
    const { number, user_position: first, agent_position: last } = turn;
    const steered = last === null || last === first + 1 ? [] : between.all(key, number, first, last);
    return toPastTurn(key, turn, { user, agent, steps: steps.all(key, number), steered });
  };
  const readBefore = (key: number, end: number, maxCharacters: number, useSummary: boolean): PastTurn[] => {
    const summarized = useSummary ? (newestSummary.get(key, end)?.turn ?? 0) : 0;
    const newestFirst: PastTurn[] = [];
    let characters = 0;
    let row = before.get(key, end);
    while (row !== undefined && row.number > summarized) {
      const turn = read(key, row);
      characters += turn.characters;
      if (newestFirst.length > 0 && characters > maxCharacters) break;
      newestFirst.push(turn.past);
      row = before.get(key, row.number);
    }
    const carrier = summarized === 0 ? undefined : before.get(key, summarized + 1);
    return [...(carrier === undefined ? [] : [read(key, carrier).past]), ...newestFirst.toReversed()];
  };
  return {
    history: (_at, identity, maxCharacters, useSummary = false) => {
      const found = facts.sessionByKey(identity.sessionKey);
      if (found === null || turnThatRuns(found, facts.openTurns(found), identity) === null) return null;
      return readBefore(identity.sessionKey, identity.number + 1, maxCharacters, useSummary);
    },
    ended: (_at, sessionId, incarnation, maxCharacters) => {
      const key = session.get(sessionId, incarnation)?.key;
      if (key === undefined) return null;
      return readBefore(key, firstOpen.get(key)?.number ?? Number.MAX_SAFE_INTEGER, maxCharacters, true);
    },
  };
}
