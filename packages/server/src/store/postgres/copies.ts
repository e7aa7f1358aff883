// Commands that copy from another session, the origin. Each has a transaction of its own, which locks both sessions in the order of
// their ids.

import type { Origin } from "../../core/commands/command.ts";
import { birthOf, needsOf, sessionOf, type SessionCommand } from "../../core/commands/index.ts";
import type { Committed } from "../../core/ports/driven/session-store.ts";
import { toMessage, toStep, toTurn, type MessageRow, type StepRow, type TurnRow } from "../rows.ts";
import { ofSession, PASSED_OVER, type Calls } from "./calls.ts";
import { MESSAGE, STEP, TURN } from "../columns.ts";
import type { Connection } from "./connections.ts";
import { writeOf } from "./draft-writer.ts";
import { prepare, together } from "./statement.ts";
import { Transaction } from "./transaction.ts";

const messages = prepare<[number], MessageRow>(
  `SELECT ${MESSAGE} FROM messages WHERE session_key = $1 ORDER BY position`,
);
const turns = prepare<[number], TurnRow>(`SELECT ${TURN} FROM turns WHERE session_key = $1 ORDER BY number`);
const steps = prepare<[number], StepRow & { readonly turn: number }>(
  `SELECT ${STEP} FROM steps WHERE session_key = $1 ORDER BY turn, number`,
);

/** Runs a command that copies from the session with the id `origin`. */
export function executeCopy(
  calls: Calls,
  command: SessionCommand,
  origin: string,
): Promise<Committed<unknown> | null> {
  const target = sessionOf(command);
  return calls.alone(ofSession(target), async (connection, at, patience) => {
    const transaction = await Transaction.begin(connection, {
      sessions: new Map([
        [origin, []],
        [target, [needsOf(command)]],
      ]),
      patience,
      epochs: 0,
      births: new Set(birthOf(command) === null ? [] : [target]),
    });
    if (transaction.isHeld(target) || transaction.isHeld(origin)) return PASSED_OVER;
    const committed = transaction.execute(at, command, await readOrigin(connection, transaction, origin));
    await writeOf(transaction.changes)(connection);
    return committed;
  });
}

async function readOrigin(
  connection: Connection,
  transaction: Transaction,
  id: string,
): Promise<Origin | null> {
  const session = transaction.byId(id)?.session;
  if (session === undefined) return null;
  const [messageRows, turnRows, stepRows] = await together([
    messages.all(connection, session.key),
    turns.all(connection, session.key),
    steps.all(connection, session.key),
  ]);
  return {
    session,
    messages: messageRows.map(toMessage),
    turns: turnRows.map(toTurn),
    steps: stepRows.map((step) => ({ turn: step.turn, step: toStep(step) })),
  };
}
