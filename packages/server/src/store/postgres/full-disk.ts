// What can still be answered while nothing can be written: commands that would write nothing but the session's last use.

import { decideCommand, needsOf, sessionOf, type SessionCommand } from "../../core/commands/index.ts";
import { SessionDraft } from "../../core/commands/draft.ts";
import { Unavailable } from "../../core/errors.ts";
import type { Committed } from "../../core/ports/driven/session-store.ts";
import type { SessionRow } from "../rows.ts";
import { ofSession, type Calls } from "./calls.ts";
import { SESSION } from "./columns.ts";
import { readFacts, statesOf } from "./facts.ts";
import { prepare } from "./statement.ts";
import { together } from "./together.ts";

const byId = prepare<[string], SessionRow>(`SELECT ${SESSION} FROM sessions WHERE id = $1`);

/** Answers a command that failed with `error`. Rejects with the error if the disk is not full, or if the command has to write. */
export async function executeWithoutWriting(
  calls: Calls,
  command: SessionCommand,
  error: unknown,
): Promise<Committed<unknown> | null> {
  if (!isFull(error)) throw error;
  const { target } = command;
  const id = sessionOf(command);
  return await calls.read(ofSession(id), async (connection) => {
    const [rows, addFacts] = await together([
      byId.all(connection, id),
      readFacts(connection, new Map([[id, [needsOf(command)]]]), "any"),
    ]);
    const [state] = statesOf(rows, addFacts).values();
    if (state === undefined && "birth" in target && target.birth !== null) throw error;
    if (state === undefined) return null;
    const { session } = state;
    const draft = new SessionDraft(session, session.updatedAt, () => {
      throw error;
    });
    const decision = decideCommand(command, draft, state.factsFor(command), session.updatedAt);
    if (decision === null) return null;
    const { outcome, disposition } = decision;
    if (disposition === "commit" && !draft.isUnchanged) throw error;
    const loads = "load" in target && target.load && disposition !== "hidden";
    return { outcome, session, created: false, events: [], loaded: loads ? state.load() : null };
  });
}

function isFull(error: unknown): boolean {
  return error instanceof Unavailable && error.status === 507;
}
