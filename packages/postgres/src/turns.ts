// Leases of running turns, the number of waiting turns, and the history of a turn's session.

import { turnThatRuns } from "@colloquy/engine/internal/core/commands/command";
import { ranUnder, type TurnIdentity } from "@colloquy/engine/internal/core/turn";
import type { PastTurn, TurnStore } from "@colloquy/engine/internal/core/ports/driven/store";
import {
  HAS_REASONING,
  type LeaseRow,
  type MessageRow,
  type ReasonedRow,
  type SessionRow,
  type StepRow,
  toLease,
  toPastTurn,
  toReasoning,
  type TurnRow,
} from "@colloquy/engine/internal/store/rows";
import { ofSession } from "@colloquy/engine/internal/store/shared";
import { prepareDelete, prepareInsert } from "./bulk.ts";
import type { Calls } from "./calls.ts";
import { MESSAGE, SESSION, STEP, TURN } from "@colloquy/engine/internal/store/columns";
import type { Connection } from "./connections.ts";
import { readFacts, statesOf } from "./facts.ts";
import type { Patience } from "./session-locks.ts";
import { prepare, together } from "./statement.ts";

export function turnsOf(calls: Calls): TurnStore {
  return {
    ...leasesOf(calls),
    checkpoint: checkpointWith(calls),
    reasoning: reasoningWith(calls),
    ...historyWith(calls),
  };
}

type Leases = Pick<TurnStore, "countWaiting" | "renew" | "releaseDeadLeases" | "handBack">;

const waiting = prepare<[number], { readonly count: number }>(
  `SELECT count(*) AS count FROM (SELECT 1 FROM turns
     WHERE ended_at IS NULL AND (runnable = 1 OR (state = 'queued' AND behind_waiting = 0)) LIMIT $1) AS waiting`,
);
// An expired lease is not renewed: its owner may have stopped the turn, which no other process could then
// continue.
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

function leasesOf(calls: Calls): Leases {
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
    // A separate queue, so that neither these calls nor renewals wait for each other.
    releaseDeadLeases: (everyOther) =>
      calls.alone("dead leases", (connection, at) => releaseDeadLeases(connection, at, everyOther)),
    handBack: async (owner, epochs) => {
      const give = (patience: Patience) =>
        calls.alone("leases", (connection, at) => handBack({ connection, at, owner, epochs, patience }));
      const free = await give("passes over");
      // Turns of unlocked sessions first, so that a locked session does not delay them.
      return free === epochs.length ? free : free + (await give("waits"));
    },
  };
}

/**
 * Locks the leases of running turns, so that no other transaction ends or claims the turns before this one is
 * committed. SKIP LOCKED: otherwise, this could deadlock with a transaction that ends several turns.
 */
const lockRunning = prepare<
  [number, readonly number[], readonly number[]],
  { readonly session_key: number; readonly epoch: number }
>(
  `SELECT leases.session_key, leases.epoch FROM unnest($2::bigint[], $3::bigint[]) AS given (key, epoch)
   JOIN leases ON leases.session_key = given.key AND leases.epoch = given.epoch
   WHERE expires_at > $1 FOR SHARE OF leases SKIP LOCKED`,
);
const OF_TURN = { session_key: "bigint", turn: "bigint" } as const;
const goBack = prepareDelete("checkpoints", OF_TURN, {
  also: { offset: "bigint" },
  further: `old."offset" >= given."offset"`,
});
// A checkpoint that is sent again may meet its first try, which `goBack` cannot see before it is committed.
const insertText = prepareInsert(
  "checkpoints",
  { ...OF_TURN, offset: "bigint", text: "text" },
  `(session_key, turn, "offset") DO UPDATE SET text = excluded.text`,
);

function checkpointWith(calls: Calls): TurnStore["checkpoint"] {
  return (pieces) =>
    calls.alone("checkpoints", async (connection, at) => {
      const keys = pieces.map(({ turn }) => turn.sessionKey);
      const epochs = pieces.map(({ turn }) => turn.epoch);
      const running = await lockRunning.all(connection, at, keys, epochs);
      const epochOf = new Map(running.map(({ session_key, epoch }) => [session_key, epoch]));
      const isStored = pieces.map(({ turn }) => epochOf.get(turn.sessionKey) === turn.epoch);
      const rows = pieces
        .filter((_piece, index) => isStored[index])
        .map(({ turn, offset, text }) => [turn.sessionKey, turn.number, offset, text] as const);
      await together([
        goBack(rows.map(([key, number, offset]) => [key, number, offset]))(connection),
        insertText(rows)(connection),
      ]);
      return isStored;
    });
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

/**
 * Returns the parameters of `release`: the keys of the sessions, and how long each turn ran until its lease
 * expired or was removed at `at`.
 */
function ranOf(ended: readonly EndedLeaseRow[], at: number): [readonly number[], readonly number[]] {
  return [ended.map(({ session_key }) => session_key), ended.map((lease) => ranUnder(toLease(lease), at))];
}

const DEAD = "(expires_at <= $1 OR owner <> $2::text)";
// SKIP LOCKED: the sweep one second later retries the sessions and leases that are locked now.
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

/** Turns per read, so that a long history costs little more than its used part. */
const READ_AT_ONCE = 16;

const byKey = prepare<[number], SessionRow>(`SELECT ${SESSION} FROM sessions WHERE key = $1`);
const turnsBefore = prepare<[number, number, number], TurnRow>(
  `SELECT ${TURN} FROM turns WHERE session_key = $1 AND number < $2
     AND NOT (state = 'interrupted' AND agent_position IS NULL)
   ORDER BY number DESC LIMIT $3`,
);
const newestSummary = prepare<[number, number], { readonly turn: number }>(
  `SELECT turn FROM messages
   WHERE session_key = $1 AND summary IS NOT NULL AND turn < $2 ORDER BY position DESC LIMIT 1`,
);
const byIncarnation = prepare<[string, string], { readonly key: number }>(
  "SELECT key FROM sessions WHERE id = $1 AND life = $2",
);
const firstOpen = prepare<[number], { readonly number: number | null }>(
  "SELECT min(number) AS number FROM turns WHERE session_key = $1 AND ended_at IS NULL",
);
const messagesAt = prepare<[number, readonly number[]], MessageRow>(
  `SELECT ${MESSAGE} FROM messages WHERE session_key = $1 AND position = ANY($2::bigint[])`,
);
/** Other messages of turns, between their question and their last answer. */
const messagesBetween = prepare<
  [number, readonly number[], readonly number[], readonly number[]],
  MessageRow
>(
  `SELECT found.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS t (number, first, last), LATERAL (
     SELECT ${MESSAGE} FROM messages
     WHERE session_key = $1 AND position > t.first AND position < t.last AND turn = t.number
   ) AS found ORDER BY position`,
);
const stepsOf = prepare<[number, readonly number[]], StepRow & { readonly turn: number }>(
  `SELECT ${STEP} FROM steps WHERE session_key = $1 AND turn = ANY($2::bigint[]) ORDER BY turn, number`,
);

const reasoned = prepare<[string, string, readonly number[]], ReasonedRow>(
  `SELECT turn, number, parts FROM steps
   WHERE session_key = (SELECT key FROM sessions WHERE id = $1 AND life = $2) AND turn = ANY($3::bigint[]) AND ${HAS_REASONING}
   ORDER BY turn, number`,
);

function reasoningWith(calls: Calls): TurnStore["reasoning"] {
  return (id, incarnation, turns) =>
    calls.look(ofSession(id), async (connection) =>
      (await reasoned.all(connection, id, incarnation, turns)).map(toReasoning),
    );
}

function historyWith(calls: Calls): Pick<TurnStore, "history" | "ended"> {
  return {
    history: (identity, maxCharacters, useSummary = false) =>
      calls.read(ofSession(identity.sessionId), async (connection) => {
        if (!(await mayWrite(connection, identity))) return null;
        const part = { before: identity.number + 1, maxCharacters, useSummary };
        return await readBefore(connection, identity.sessionKey, part);
      }),
    ended: (sessionId, incarnation, maxCharacters) =>
      calls.read(ofSession(sessionId), async (connection) => {
        const key = (await byIncarnation.get(connection, sessionId, incarnation))?.key;
        if (key === undefined) return null;
        const before = (await firstOpen.get(connection, key))?.number ?? Number.MAX_SAFE_INTEGER;
        return await readBefore(connection, key, { before, maxCharacters, useSummary: true });
      }),
  };
}

/** Reads a session's turns, newest first, up to a total length. */
async function readBefore(
  connection: Connection,
  key: number,
  {
    before: end,
    maxCharacters,
    useSummary,
  }: { readonly before: number; readonly maxCharacters: number; readonly useSummary: boolean },
): Promise<readonly PastTurn[]> {
  const summarized = useSummary ? ((await newestSummary.get(connection, key, end))?.turn ?? 0) : 0;
  const carrier = summarized === 0 ? [] : (await readTurns(connection, key, summarized + 1, 1)).slice(0, 1);
  const first = carrier.map(({ past }) => past);
  const newestFirst: PastTurn[] = [];
  let characters = 0;
  let before = end;
  for (;;) {
    const turns = await readTurns(connection, key, before, READ_AT_ONCE);
    for (const turn of turns) {
      characters += turn.characters;
      const fits = newestFirst.length === 0 || characters <= maxCharacters;
      if (!fits || turn.past.number <= summarized) return [...first, ...newestFirst.toReversed()];
      newestFirst.push(turn.past);
      before = turn.past.number;
    }
    if (turns.length < READ_AT_ONCE) return [...first, ...newestFirst.toReversed()];
  }
}

async function mayWrite(connection: Connection, identity: TurnIdentity): Promise<boolean> {
  const { sessionId, sessionKey } = identity;
  const [rows, addFacts] = await together([
    byKey.all(connection, sessionKey),
    readFacts(connection, new Map([[sessionId, [{ openTurns: true }]]]), "any"),
  ]);
  const state = statesOf(rows, addFacts).get(sessionKey);
  return state !== undefined && turnThatRuns(state.session, state.openTurns(), identity) !== null;
}

async function readTurns(
  connection: Connection,
  key: number,
  before: number,
  limit: number,
): Promise<readonly { readonly past: PastTurn; readonly characters: number }[]> {
  const turns = await turnsBefore.all(connection, key, before, limit);
  if (turns.length === 0) return [];
  const positions = turns.flatMap(({ user_position, agent_position }) =>
    agent_position === null ? [user_position] : [user_position, agent_position],
  );
  // Only a turn with messages between its first two may have read others.
  const wide = turns.flatMap(({ number, user_position: first, agent_position: last }) =>
    last === null || last === first + 1 ? [] : [{ number, first, last }],
  );
  const [messageRows, steeredRows, stepRows] = await together([
    messagesAt.all(connection, key, positions),
    wide.length === 0
      ? Promise.resolve([])
      : messagesBetween.all(
          connection,
          key,
          wide.map(({ number }) => number),
          wide.map(({ first }) => first),
          wide.map(({ last }) => last),
        ),
    stepsOf.all(
      connection,
      key,
      turns.map(({ number }) => number),
    ),
  ]);
  const messages = new Map(messageRows.map((row) => [row.position, row]));
  return turns.map((turn) => {
    const user = messages.get(turn.user_position);
    const agent = turn.agent_position === null ? null : (messages.get(turn.agent_position) ?? null);
    return toPastTurn(key, turn, {
      user,
      agent,
      steps: stepRows.filter((step) => step.turn === turn.number),
      steered: steeredRows.filter((row) => row.turn === turn.number),
    });
  });
}
