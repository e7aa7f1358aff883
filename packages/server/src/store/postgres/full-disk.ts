// What can still be answered while nothing can be written: a session that is opened or used and does not change, only that its use cannot be
// noted (as store/sqlite/full-disk.ts).

import { SessionDraft } from "../../core/commands/draft.ts";
import { dispositionOf } from "../../core/commands/disposition.ts";
import { decideOpen } from "../../core/commands/settings.ts";
import { Unavailable } from "../../core/errors.ts";
import type { SessionStore } from "../../core/ports/driven/session-store.ts";
import type { SessionRow } from "../rows.ts";
import { ofSession, type Calls } from "./calls.ts";
import { SESSION } from "./columns.ts";
import { readFacts, statesOf } from "./facts.ts";
import { prepare } from "./statement.ts";
import { together } from "./together.ts";

type Asked<Method extends keyof SessionStore> = Parameters<SessionStore[Method]>;
type Answer<Method extends keyof SessionStore> = Awaited<ReturnType<SessionStore[Method]>>;

const byId = prepare<[string], SessionRow>(`SELECT ${SESSION} FROM sessions WHERE id = $1`);
const gone = prepare<[readonly string[], readonly string[]], { readonly id: string }>(
  `SELECT u.id FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (id, life, place)
   WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = u.id AND s.life = u.life) ORDER BY u.place`,
);

/** Answers a call that failed with `error` without writing. Rejects with the error where that is not the full disk, or the call has to write. */
export async function openWithoutWriting(
  calls: Calls,
  [target, input, apps]: Asked<"open">,
  error: unknown,
): Promise<Answer<"open">> {
  if (!isFull(error)) throw error;
  return await calls.read(ofSession(target.id), async (connection) => {
    const [rows, addFacts] = await together([
      byId.all(connection, target.id),
      readFacts(connection, new Map([[target.id, [{ all: target.load }]]]), "any"),
    ]);
    const [state] = statesOf(rows, addFacts).values();
    if (state === undefined && target.birth === null) return null;
    if (state === undefined) throw error;
    const { session } = state;
    const draft = new SessionDraft(session, session.updatedAt, () => {
      throw error;
    });
    const outcome = decideOpen(draft, input, apps);
    if (outcome === "ok" && draft.session !== session) throw error;
    const loaded = target.load && dispositionOf(outcome) !== "hidden" ? state.load() : null;
    return { outcome, session, created: false, events: [], loaded };
  });
}

/** As `openWithoutWriting`: looks which sessions are gone, without noting the use of the others. */
export async function touchWithoutWriting(
  calls: Calls,
  [used]: Asked<"touch">,
  error: unknown,
): Promise<Answer<"touch">> {
  if (!isFull(error)) throw error;
  const ids = used.map(({ id }) => id);
  const lives = used.map(({ life }) => life);
  return await calls.look("use", async (connection) =>
    (await gone.all(connection, ids, lives)).map(({ id }) => id),
  );
}

function isFull(error: unknown): boolean {
  return error instanceof Unavailable && error.status === 507;
}
