import type { DatabaseSync } from "node:sqlite";
import { turnThatRuns } from "../../core/commands/command.ts";
import type { PastTurn, TurnStore } from "../../core/ports/driven/turn-store.ts";
import type { Synchronous } from "./calls.ts";
import { charactersOf, toMessage, toStep, type MessageRow, type StepRow, type TurnRow } from "../rows.ts";
import { prepare } from "./statement.ts";
import type { Transaction } from "./transaction.ts";

/** The past of a session, read from its end until there is enough of it. */
export function prepareHistory(
  database: DatabaseSync,
  { facts }: Transaction,
): Synchronous<TurnStore>["history"] {
  // One row at a time, so that a long past costs no more than what is sent of it.
  const before = prepare<[number, number], TurnRow>(
    database,
    `SELECT * FROM turns WHERE session_key = ? AND number < ?
       AND NOT (state = 'interrupted' AND agent_position IS NULL)
     ORDER BY number DESC LIMIT 1`,
  );
  const message = prepare<[number, number | null], MessageRow>(
    database,
    "SELECT * FROM messages WHERE session_key = ? AND position = ?",
  );
  const steps = prepare<[number, number], StepRow>(
    database,
    "SELECT * FROM steps WHERE session_key = ? AND turn = ? ORDER BY number",
  );
  const read = (key: number, turn: TurnRow) => {
    const user = message.get(key, turn.user_position);
    if (user === undefined) throw new Error(`Turn ${turn.number} of session ${key} has no user message`);
    const agent = message.get(key, turn.agent_position) ?? null;
    const stepRows = steps.all(key, turn.number);
    const past: PastTurn = {
      number: turn.number,
      state: turn.state,
      userMessage: toMessage(user),
      agentMessage: agent === null ? null : toMessage(agent),
      steps: stepRows.map(toStep),
    };
    return { past, characters: charactersOf(user, agent, stepRows) };
  };
  return (_at, identity, maxCharacters) => {
    const session = facts.sessionByKey(identity.sessionKey);
    if (session === null || turnThatRuns(session, facts.openTurns(session), identity) === null) return null;
    const key = identity.sessionKey;
    const newestFirst: PastTurn[] = [];
    let characters = 0;
    let row = before.get(key, identity.turn + 1);
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
