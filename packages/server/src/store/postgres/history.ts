import { turnThatRuns } from "../../core/commands/command.ts";
import type { PastTurn, TurnStore } from "../../core/ports/driven/turn-store.ts";
import type { TurnIdentity } from "../../core/turn.ts";
import {
  charactersOf,
  toMessage,
  toStep,
  type MessageRow,
  type SessionRow,
  type StepRow,
  type TurnRow,
} from "../rows.ts";
import { ofSession, type Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import { readFacts, statesOf } from "./facts.ts";
import { prepare } from "./statement.ts";
import { MESSAGE, SESSION, STEP, TURN } from "./columns.ts";
import { together } from "./together.ts";

/** Turns that are read at once: a long past costs little more than what is sent of it. */
const READ_AT_ONCE = 16;

const byKey = prepare<[number], SessionRow>(`SELECT ${SESSION} FROM sessions WHERE key = $1`);
const turnsBefore = prepare<[number, number], TurnRow>(
  `SELECT ${TURN} FROM turns WHERE session_key = $1 AND number < $2
     AND NOT (state = 'interrupted' AND agent_position IS NULL)
   ORDER BY number DESC LIMIT ${READ_AT_ONCE}`,
);
const messagesAt = prepare<[number, readonly number[]], MessageRow>(
  `SELECT ${MESSAGE} FROM messages WHERE session_key = $1 AND position = ANY($2::bigint[])`,
);
const stepsOf = prepare<[number, readonly number[]], StepRow & { readonly turn: number }>(
  `SELECT ${STEP} FROM steps WHERE session_key = $1 AND turn = ANY($2::bigint[]) ORDER BY turn, number`,
);

/** The past of a session, read from its end until there is enough of it. */
export function historyWith(calls: Calls): TurnStore["history"] {
  return (identity, maxCharacters) =>
    calls.read(ofSession(identity.sessionId), async (connection) => {
      if (!(await mayWrite(connection, identity))) return null;
      const newestFirst: PastTurn[] = [];
      let characters = 0;
      let before = identity.turn + 1;
      for (;;) {
        const turns = await readTurns(connection, identity.sessionKey, before);
        for (const turn of turns) {
          characters += turn.characters;
          if (newestFirst.length > 0 && characters > maxCharacters) return newestFirst.toReversed();
          newestFirst.push(turn.past);
          before = turn.past.number;
        }
        if (turns.length < READ_AT_ONCE) return newestFirst.toReversed();
      }
    });
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
): Promise<readonly { readonly past: PastTurn; readonly characters: number }[]> {
  const turns = await turnsBefore.all(connection, key, before);
  if (turns.length === 0) return [];
  const positions = turns.flatMap(({ user_position, agent_position }) =>
    agent_position === null ? [user_position] : [user_position, agent_position],
  );
  const [messageRows, stepRows] = await together([
    messagesAt.all(connection, key, positions),
    stepsOf.all(
      connection,
      key,
      turns.map(({ number }) => number),
    ),
  ]);
  const messages = new Map(messageRows.map((row) => [row.position, row]));
  return turns.map((turn) => {
    const user = messages.get(turn.user_position);
    if (user === undefined) throw new Error(`Turn ${turn.number} of session ${key} has no user message`);
    const agent = turn.agent_position === null ? null : (messages.get(turn.agent_position) ?? null);
    const steps = stepRows.filter((step) => step.turn === turn.number);
    const past = {
      number: turn.number,
      state: turn.state,
      userMessage: toMessage(user),
      agentMessage: agent === null ? null : toMessage(agent),
      steps: steps.map(toStep),
    };
    return { past, characters: charactersOf(user, agent, steps) };
  });
}
