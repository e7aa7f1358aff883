// Selects the sessions of `executeEach`. Only one process at a time writes to the database, so there are no locks to skip.

import type { Selection, SessionCommand } from "../../core/commands/index.ts";
import { claimCommand, type ClaimTurns } from "../../core/commands/claim-turn.ts";
import { expireCommand } from "../../core/commands/expire-actions.ts";
import { dueSessions } from "../actions.ts";
import type { Prepare, RunWork } from "./database.ts";

export function prepareSelections(
  prepare: Prepare,
  run: RunWork,
): (at: number, selection: Selection) => readonly SessionCommand[] {
  const claims = prepareClaims(prepare);
  return (at, selection) =>
    selection.kind === "claimTurns"
      ? claims(selection)
      : run(dueSessions.all(at, selection.limit)).map(({ id }) => expireCommand(id));
}

function prepareClaims(prepare: Prepare): (selection: ClaimTurns) => readonly SessionCommand[] {
  interface RunnableRow {
    readonly id: string;
    readonly number: number;
  }
  const runnable = prepare<
    [number],
    RunnableRow
  >(`SELECT s.id, t.number FROM turns t INDEXED BY turns_runnable CROSS JOIN sessions s ON s.key = t.session_key
     WHERE t.runnable = 1 ORDER BY t.enqueued_at, t.session_key, t.number LIMIT ?`);
  const runnableElsewhere = prepare<
    [string, number],
    RunnableRow
  >(`SELECT s.id, t.number FROM turns t INDEXED BY turns_runnable CROSS JOIN sessions s ON s.key = t.session_key
     WHERE t.runnable = 1
       AND substr(s.model, 1, instr(s.model || '/', '/') - 1) NOT IN (SELECT value FROM json_each(?))
     ORDER BY t.enqueued_at, t.session_key, t.number LIMIT ?`);
  return (selection) => {
    const { agentMessageIds, fullProviders } = selection;
    const count = agentMessageIds.length;
    const rows =
      fullProviders.length === 0
        ? runnable.all(count)
        : runnableElsewhere.all(JSON.stringify(fullProviders), count);
    return rows.flatMap(({ id, number }, index) => {
      const agentMessageId = agentMessageIds[index];
      return agentMessageId === undefined ? [] : [claimCommand(selection, id, number, agentMessageId)];
    });
  };
}
