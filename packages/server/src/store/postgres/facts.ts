// What the database knows of sessions that a transaction has locked: few statements, whatever the number of sessions and of calls.

import type { SystemEventRecord } from "../../core/system-event.ts";
import {
  toAction,
  toLease,
  toMessage,
  toSession,
  toTurn,
  type ActionRow,
  type LeaseRow,
  type MessageRow,
  type SessionRow,
  type TurnRow,
} from "../rows.ts";
import { listsOf, unnest, type Row } from "./bulk.ts";
import type { Connection } from "./connections.ts";
import { SessionState } from "./session-state.ts";
import { prepare } from "./statement.ts";
import { ACTION, MESSAGE, TURN, of } from "./columns.ts";
import { together } from "./together.ts";

/** What a call has to know of its session, beside its row. */
export interface Needs {
  /** How many turns have not ended, and whether one of them waits. */
  readonly turnCount?: boolean;
  /** Turns that have not ended, with their messages and actions, and the lease under which one of them runs. */
  readonly turns?: boolean;
  /** Text that was checkpointed of them. */
  readonly streamed?: boolean;
  /** Everything that a snapshot shows. */
  readonly all?: boolean;
  readonly idempotencyKey?: string | null;
  /** Id of an action. */
  readonly action?: string | null;
  /** How many epochs its decision takes at most. */
  readonly epochs?: number;
}

type OfSession<RowType> = RowType & { readonly session_key: number };

const turnCounts = prepare<
  [readonly number[]],
  { readonly session_key: number; readonly open_turns: number; readonly waits: boolean }
>(
  `SELECT session_key, count(*) AS open_turns, bool_or(state = 'waiting') AS waits FROM turns
   WHERE session_key = ANY($1::bigint[]) AND ended_at IS NULL GROUP BY session_key`,
);
// One statement for the turns and their leases: every write of a turn needs both.
const openTurns = prepare<
  [readonly number[]],
  OfSession<TurnRow> & { readonly [Column in keyof LeaseRow]: LeaseRow[Column] | null }
>(
  `SELECT ${TURN}, (SELECT taken_at FROM leases WHERE leases.session_key = turns.session_key) AS taken_at,
     (SELECT expires_at FROM leases WHERE leases.session_key = turns.session_key) AS expires_at
   FROM turns WHERE session_key = ANY($1::bigint[]) AND ended_at IS NULL`,
);
const messagesOfOpenTurns = prepare<[readonly number[]], OfSession<MessageRow>>(
  `SELECT ${of("m", MESSAGE)} FROM turns t
   JOIN messages m ON m.session_key = t.session_key AND m.position IN (t.user_position, t.agent_position)
   WHERE t.session_key = ANY($1::bigint[]) AND t.ended_at IS NULL`,
);
const pendingActions = prepare<[readonly number[]], OfSession<ActionRow>>(
  `SELECT ${ACTION} FROM actions WHERE session_key = ANY($1::bigint[]) AND status = 'pending'`,
);
const streamedText = prepare<
  [readonly number[]],
  { readonly session_key: number; readonly turn: number; readonly offset: number; readonly text: string }
>(
  `SELECT session_key, turn, "offset", text FROM checkpoints WHERE session_key = ANY($1::bigint[])
   ORDER BY session_key, turn, "offset"`,
);
const allMessages = prepare<[readonly number[]], OfSession<MessageRow>>(
  `SELECT ${MESSAGE} FROM messages WHERE session_key = ANY($1::bigint[])`,
);
const systemEvents = prepare<
  [readonly number[]],
  { readonly session_key: number; readonly number: number; readonly item: string }
>(
  "SELECT session_key, number, item FROM system_events WHERE session_key = ANY($1::bigint[]) ORDER BY session_key, number",
);
const WANTED = { session_key: "bigint", wanted: "text" } as const;
const usedKeys = prepare<
  ReturnType<typeof listsOf>,
  {
    readonly session_key: number;
    readonly key: string;
    readonly digest: string;
    readonly turn: number;
    readonly at: number;
  }
>(
  `SELECT k.session_key, k.key, k.digest, k.turn, k.at FROM ${unnest(WANTED, 1)} AS w (session_key, wanted)
   JOIN idempotency_keys k ON k.session_key = w.session_key AND k.key = w.wanted`,
);
const namedActions = prepare<ReturnType<typeof listsOf>, OfSession<ActionRow>>(
  `SELECT ${of("a", ACTION)} FROM ${unnest(WANTED, 1)} AS w (session_key, wanted)
   JOIN actions a ON a.session_key = w.session_key AND a.id = w.wanted`,
);

/** The states of locked sessions, by key. `needsOf` answers what the calls to a session have to know. */
export async function readStates(
  connection: Connection,
  rows: readonly SessionRow[],
  needsOf: (row: SessionRow) => readonly Needs[],
): Promise<ReadonlyMap<number, SessionState>> {
  const states = new Map<number, SessionState>();
  for (const row of rows) {
    const session = toSession(row);
    states.set(row.key, new SessionState(session, session));
  }
  const wanted = rows.map((row) => ({ row, needs: needsOf(row) }));
  const stateOf = ({ session_key }: { readonly session_key: number }): SessionState => {
    const state = states.get(session_key);
    if (state === undefined) throw new Error(`The session ${session_key} was not locked`);
    return state;
  };
  await together([
    ...readTurns(connection, wanted, stateOf),
    ...readAll(connection, wanted, stateOf),
    ...readNamed(connection, wanted, stateOf),
  ]);
  return states;
}

type Wanted = readonly { readonly row: SessionRow; readonly needs: readonly Needs[] }[];
type StateOf = (row: { readonly session_key: number }) => SessionState;

/** What is to be known of open turns. Only a session that is processing has any (contract section 3): the others need no look. */
function readTurns(connection: Connection, wanted: Wanted, stateOf: StateOf): Promise<void>[] {
  const keysOf = (isWanted: (needs: Needs) => boolean): readonly number[] =>
    wanted
      .filter(({ row, needs }) => row.status === "processing" && needs.some(isWanted))
      .map(({ row }) => row.key);
  const turns = keysOf((needs) => needs.turns === true || needs.all === true);
  const streamed = keysOf((needs) => needs.streamed === true || needs.all === true);
  const read = new Set(turns);
  const counted = keysOf((needs) => needs.turnCount === true).filter((key) => !read.has(key));
  return [
    ifAny(counted, async () => {
      for (const row of await turnCounts.all(connection, counted)) {
        stateOf(row).addTurnCount({ openTurns: row.open_turns, waits: row.waits });
      }
    }),
    ifAny(turns, async () => {
      for (const { expires_at, ...row } of await openTurns.all(connection, turns)) {
        stateOf(row).addTurn(toTurn(row));
        if (expires_at !== null) stateOf(row).addLease(toLease({ ...row, expires_at }));
      }
    }),
    ifAny(turns, async () => {
      for (const row of await messagesOfOpenTurns.all(connection, turns)) {
        stateOf(row).addMessage(toMessage(row));
      }
    }),
    ifAny(turns, async () => {
      for (const row of await pendingActions.all(connection, turns)) stateOf(row).addAction(toAction(row));
    }),
    ifAny(streamed, async () => {
      for (const row of await streamedText.all(connection, streamed)) {
        stateOf(row).addCheckpoint(row.turn, row.offset, row.text);
      }
    }),
  ];
}

function readAll(connection: Connection, wanted: Wanted, stateOf: StateOf): Promise<void>[] {
  const keys = wanted.filter(({ needs }) => needs.some(({ all }) => all === true)).map(({ row }) => row.key);
  return [
    ifAny(keys, async () => {
      for (const row of await allMessages.all(connection, keys)) stateOf(row).addMessage(toMessage(row));
    }),
    ifAny(keys, async () => {
      for (const row of await systemEvents.all(connection, keys)) {
        const item = JSON.parse(row.item) as SystemEventRecord["item"];
        stateOf(row).addSystemEvents([{ number: row.number, item }]);
      }
    }),
  ];
}

function readNamed(connection: Connection, wanted: Wanted, stateOf: StateOf): Promise<void>[] {
  const namesOf = (nameIn: (needs: Needs) => string | null | undefined): readonly Row[] =>
    wanted.flatMap(({ row, needs }) =>
      [...new Set(needs.map(nameIn))].flatMap((name) => (typeof name === "string" ? [[row.key, name]] : [])),
    );
  const keys = namesOf(({ idempotencyKey }) => idempotencyKey);
  const actions = namesOf(({ action }) => action);
  return [
    ifAny(keys, async () => {
      for (const row of await usedKeys.all(connection, ...listsOf(keys, 2))) {
        stateOf(row).addUsedKey(row.key, { digest: row.digest, turn: row.turn, at: row.at });
      }
    }),
    ifAny(actions, async () => {
      for (const row of await namedActions.all(connection, ...listsOf(actions, 2))) {
        stateOf(row).addAction(toAction(row));
      }
    }),
  ];
}

async function ifAny(wanted: readonly unknown[], read: () => Promise<void>): Promise<void> {
  if (wanted.length > 0) await read();
}
