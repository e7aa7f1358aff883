// Turns that wait, and the leases of those that run.

import { availableModel } from "../../core/decisions/available-model.ts";
import { ranUnder } from "../../core/decisions/run-time.ts";
import { decideClaim } from "../../core/decisions/turns.ts";
import type { Committed } from "../../core/ports/session-store.ts";
import type { TurnStore } from "../../core/ports/turn-store.ts";
import { providerOf } from "../../core/rig.ts";
import { appOf } from "../../core/session.ts";
import type { StartedTurn } from "../../core/turn.ts";
import { toLease, type LeaseRow } from "../rows.ts";
import type { Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import { writeChanges } from "./draft-writer.ts";
import { prepare } from "./statement.ts";
import { Transaction } from "./transaction.ts";

type Queue = Pick<TurnStore, "claim" | "countWaiting" | "renew" | "releaseDeadLeases" | "handBack">;

const waiting = prepare<[number], { readonly count: number }>(
  `SELECT count(*) AS count FROM (SELECT 1 FROM turns
     WHERE ended_at IS NULL AND (runnable = 1 OR (state = 'queued' AND behind_waiting = 0)) LIMIT $1) AS waiting`,
);
// A lease that has run out stays so: its owner may have stopped already, and then nobody else would ever go on.
const prolong = prepare<[number, string, number, readonly number[]], { readonly epoch: number }>(
  `WITH held AS (
     SELECT session_key FROM leases WHERE owner = $2 AND expires_at > $3 AND epoch = ANY($4::bigint[])
     ORDER BY session_key FOR UPDATE
   )
   UPDATE leases SET expires_at = $1 WHERE session_key IN (SELECT session_key FROM held) RETURNING epoch`,
);

export function queueOf(calls: Calls): Queue {
  return {
    claim: claimWith(calls),
    countWaiting: (limit) =>
      calls.look("claims", async (connection) => (await waiting.get(connection, limit))?.count ?? 0),
    renew: (owner, epochs, leaseMs) =>
      calls.alone("leases", async (connection, at) => {
        const held = await prolong.all(connection, at + leaseMs, owner, at, epochs);
        return held.map(({ epoch }) => epoch);
      }),
    releaseDeadLeases: (everyOther) =>
      calls.alone("leases", (connection, at) => releaseDeadLeases(connection, at, everyOther)),
    handBack: (owner, epochs) =>
      calls.alone("leases", (connection, at) => handBack(connection, at, owner, epochs)),
  };
}

interface RunnableRow {
  readonly session_key: number;
  readonly number: number;
}

const RUNNABLE = `SELECT t.session_key, t.number FROM turns t JOIN sessions s ON s.key = t.session_key
  WHERE t.runnable = 1 AND split_part(s.model, '/', 1) <> ALL($1::text[])`;
const LONGEST_WAITING = "ORDER BY t.enqueued_at, t.session_key, t.number LIMIT $2";
const lockRunnable = prepare<[readonly string[], number], RunnableRow>(
  `${RUNNABLE} ${LONGEST_WAITING} FOR UPDATE OF s SKIP LOCKED`,
);
const runnableBeside = prepare<[readonly string[], number, readonly number[]], RunnableRow>(
  `${RUNNABLE} AND t.session_key <> ALL($3::bigint[]) ${LONGEST_WAITING}`,
);

type Claim = {
  readonly owner: string;
  readonly agentMessageIds: readonly string[];
  readonly fullProviders: readonly string[];
  readonly models: Readonly<Record<string, readonly string[]>>;
};

/**
 * Nodes that claim at the same time pass over what another one holds, so that none waits for the others. What is left then may be held
 * for another reason, a rename for example: that is waited for, in a second transaction, which holds nothing meanwhile.
 */
function claimWith(calls: Calls): Queue["claim"] {
  return async (owner, agentMessageIds, fullProviders, models) => {
    const claim = { owner, agentMessageIds, fullProviders, models };
    const { claimed, passedOver } = await calls.alone("claims", async (connection, at) => {
      const rows = await lockRunnable.all(connection, fullProviders, agentMessageIds.length);
      const claimed = await claimRows(connection, at, rows, claim);
      const left = agentMessageIds.length - rows.length;
      const keys = rows.map(({ session_key }) => session_key);
      const passedOver = left === 0 ? [] : await runnableBeside.all(connection, fullProviders, left, keys);
      return { claimed, passedOver };
    });
    if (passedOver.length === 0) return claimed;
    const rest = {
      ...claim,
      agentMessageIds: agentMessageIds.slice(agentMessageIds.length - passedOver.length),
    };
    const further = calls.alone("claims", (connection, at) => claimRows(connection, at, passedOver, rest));
    // What was claimed is so, whatever becomes of the others.
    return [...claimed, ...(await (claimed.length === 0 ? further : further.catch(() => [])))];
  };
}

/** Starts those of the turns that are still runnable behind the locks of their sessions. */
async function claimRows(
  connection: Connection,
  at: number,
  rows: readonly RunnableRow[],
  { owner, agentMessageIds, fullProviders, models }: Claim,
): Promise<readonly Committed<StartedTurn | null>[]> {
  if (rows.length === 0) return [];
  const transaction = await Transaction.begin(connection, {
    sessions: { keys: rows.map(({ session_key }) => session_key) },
    needsOf: () => [{ turns: true }],
    epochs: rows.length,
    births: [],
  });
  const claimed = rows.flatMap(({ session_key, number }, index) => {
    const state = transaction.byKey(session_key);
    const openTurns = state?.openTurns() ?? [];
    const open = openTurns.find(({ turn }) => turn.number === number && turn.runnable);
    const agentMessageId = agentMessageIds[index];
    if (state === null || open === undefined || agentMessageId === undefined) return [];
    const ofApp = models[appOf(state.session)] ?? [];
    // The default that a session goes on with may be on a full provider where its own rig was not.
    if (fullProviders.includes(providerOf(availableModel(state.session, ofApp)))) return [];
    const draft = transaction.draft(state, at);
    const started = decideClaim(draft, openTurns, open, { owner, agentMessageId }, ofApp);
    return [transaction.keep(state, draft, started)];
  });
  await writeChanges(connection, transaction.changes);
  return claimed;
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
// A session that somebody holds is in use: the next look, a second later, finds it again.
const lockDead = prepare<[number, string | null], { readonly key: number }>(
  `SELECT s.key FROM leases JOIN sessions s ON s.key = session_key WHERE ${DEAD}
   ORDER BY s.id FOR UPDATE OF s SKIP LOCKED`,
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
const lockHeld = prepare<[string, readonly number[]], { readonly key: number }>(
  `SELECT s.key FROM leases JOIN sessions s ON s.key = session_key
   WHERE owner = $1 AND leases.epoch = ANY($2::bigint[]) ORDER BY s.id FOR UPDATE OF s`,
);
const removeHeld = prepare<[string, readonly number[], readonly number[]], EndedLeaseRow>(
  `DELETE FROM leases WHERE ${HELD} AND session_key = ANY($3::bigint[]) RETURNING session_key, taken_at, expires_at`,
);

async function handBack(
  connection: Connection,
  at: number,
  owner: string,
  epochs: readonly number[],
): Promise<number> {
  const locked = await lockHeld.all(connection, owner, epochs);
  if (locked.length === 0) return 0;
  const keys = locked.map(({ key }) => key);
  const removed = await removeHeld.all(connection, owner, epochs, keys);
  return await releaseUncounted.run(connection, ...ranOf(removed, at));
}
