import { fateOf } from "../../core/decisions/fate.ts";
import { decideModel, decideOpen, decideRename } from "../../core/decisions/settings.ts";
import type { SessionStore, SessionVersion, StreamedText } from "../../core/ports/session-store.ts";
import { countsAs, DEFAULT_APP } from "../../core/session.ts";
import { toMessage, toSession, type MessageRow, type SessionRow } from "../rows.ts";
import { ofSession, PASSED_OVER, type Calls } from "./calls.ts";
import { expireSessions } from "./expiry.ts";
import { openWithoutWriting, touchWithoutWriting } from "./full-disk.ts";
import { removeSessions } from "./removal.ts";
import { lockSessions } from "./session-locks.ts";
import { prepare } from "./statement.ts";
import { MESSAGE, SESSION } from "./columns.ts";

const byId = prepare<[string], SessionRow>(`SELECT ${SESSION} FROM sessions WHERE id = $1`);

export function sessionsOf(calls: Calls): SessionStore {
  const existing = (id: string) => ({ id, birth: null, load: false });
  return {
    open: openWith(calls),
    find: (id) =>
      calls.look(ofSession(id), async (connection) => {
        const row = await byId.get(connection, id);
        return row === undefined ? null : toSession(row);
      }),
    ...versionsWith(calls),
    list: listWith(calls),
    rename: (id, title, apps) =>
      calls.change(id, {}, (transaction, at) =>
        transaction.change(at, existing(id), (draft) => decideRename(draft, title, apps), fateOf),
      ),
    setModel: (target, choice) =>
      calls.change(target.id, { all: target.load, mayBegin: target.birth !== null }, (transaction, at) =>
        transaction.change(at, target, (draft) => decideModel(draft, choice), fateOf),
      ),
    remove: (id, apps) =>
      calls.alone(ofSession(id), async (connection, _at, patience) => {
        const [row] = await lockSessions(connection, { ids: [id] }, patience);
        if (row === undefined) {
          const isHeld = patience === "passes over" && (await byId.get(connection, id)) !== undefined;
          return isHeld ? PASSED_OVER : null;
        }
        if (!countsAs(row, apps)) return "other_app";
        await removeSessions(connection, [row.key]);
        return { life: row.life };
      }),
    messages: messagesWith(calls),
    touch: touchWith(calls),
    expire: (input) => calls.alone("expiry", (connection) => expireSessions(connection, input)),
  };
}

const STREAMED = `(
  SELECT max(turn) || ' ' || max("offset") || ' ' || sum(length(text)) FROM checkpoints WHERE session_key = sessions.key
) AS streamed`;
const versions = prepare<[readonly string[]], SessionVersion>(
  `SELECT id, life, app, head, epoch, ${STREAMED} FROM sessions WHERE id = ANY($1::text[])`,
);
const streamedText = prepare<[string], Omit<StreamedText, "text"> & { readonly text: string | null }>(
  `SELECT life, head, epoch, ${STREAMED}, (
     SELECT json_agg(json_build_array("offset", text) ORDER BY turn, "offset") FROM checkpoints WHERE session_key = sessions.key
   )::text AS text FROM sessions WHERE id = $1`,
);

function versionsWith(calls: Calls): Pick<SessionStore, "versions" | "streamedText"> {
  return {
    versions: (ids) => calls.look(null, (connection) => versions.all(connection, ids)),
    streamedText: (id) =>
      calls.look(ofSession(id), async (connection) => {
        const row = await streamedText.get(connection, id);
        return row === undefined ? null : { ...row, text: joinPieces(row.text) };
      }),
  };
}

function joinPieces(json: string | null): string {
  const pieces = json === null ? [] : (JSON.parse(json) as readonly [number, string][]);
  return pieces.reduce((text, [offset, piece]) => text.slice(0, offset) + piece, "");
}

function openWith(calls: Calls): SessionStore["open"] {
  return (target, input, apps) =>
    calls
      .change(target.id, { all: target.load, mayBegin: target.birth !== null }, (transaction, at) =>
        transaction.change(at, target, (draft) => decideOpen(draft, input, apps), fateOf),
      )
      .catch((error: unknown) => openWithoutWriting(calls, [target, input, apps], error));
}

const OF_APPS = `public_key = $1 AND coalesce(app, '${DEFAULT_APP}') = ANY($2::text[])`;
const NEWEST_FIRST = "ORDER BY updated_at DESC, key DESC LIMIT $3";
const firstOfWallet = prepare<[string, readonly string[], number], SessionRow>(
  `SELECT ${SESSION} FROM sessions WHERE ${OF_APPS} ${NEWEST_FIRST}`,
);
const furtherOfWallet = prepare<[string, readonly string[], number, number, number], SessionRow>(
  `SELECT ${SESSION} FROM sessions WHERE ${OF_APPS} AND (updated_at, key) < ($4, $5) ${NEWEST_FIRST}`,
);

function listWith(calls: Calls): SessionStore["list"] {
  return ({ publicKey, apps, limit, after }) =>
    calls.look(null, async (connection) => {
      const rows =
        after === null
          ? await firstOfWallet.all(connection, publicKey, apps, limit)
          : await furtherOfWallet.all(connection, publicKey, apps, limit, after.updatedAt, after.key);
      return rows.map(toSession);
    });
}

const positionOf = prepare<[number, string], { readonly position: number }>(
  "SELECT position FROM messages WHERE session_key = $1 AND id = $2",
);
const messagesAfter = prepare<[number, number, number], MessageRow>(
  `SELECT ${MESSAGE} FROM messages WHERE session_key = $1 AND position > $2 ORDER BY position LIMIT $3`,
);

function messagesWith(calls: Calls): SessionStore["messages"] {
  return (id, after, limit, apps) =>
    calls.read(ofSession(id), async (connection) => {
      const session = await byId.get(connection, id);
      if (session === undefined) return null;
      if (!countsAs(session, apps)) return "other_app";
      const position = after === null ? 0 : (await positionOf.get(connection, session.key, after))?.position;
      if (position === undefined) return null;
      return (await messagesAfter.all(connection, session.key, position, limit)).map(toMessage);
    });
}

const alive = "sessions s JOIN unnest($1::text[], $2::text[]) AS u (id, life) USING (id, life)";
const noteUse = prepare<
  [readonly string[], readonly string[], number],
  { readonly id: string; readonly life: string }
>(
  `WITH used AS (SELECT s.key FROM ${alive} ORDER BY s.id FOR UPDATE OF s SKIP LOCKED)
   UPDATE sessions SET used_at = greatest(used_at, $3) WHERE key IN (SELECT key FROM used) RETURNING id, life`,
);
const findAlive = prepare<
  [readonly string[], readonly string[]],
  { readonly id: string; readonly life: string }
>(`SELECT id, life FROM ${alive}`);

type Life = Parameters<SessionStore["touch"]>[0][number];

/** The use of sessions that somebody else holds is noted when he is done, as every other change of them is: the others do not wait for that. */
function touchWith(calls: Calls): SessionStore["touch"] {
  const note = async (used: readonly Life[]) => {
    const { noted, held } = await calls.alone("use", async (connection, at) => {
      const noted = await noteUse.all(connection, ...listsOf(used), at);
      const left = without(used, noted);
      return { noted, held: left.length === 0 ? [] : await findAlive.all(connection, ...listsOf(left)) };
    });
    const late = held.map(({ id, life }) =>
      calls.change(id, {}, (transaction, at) => (transaction.noteUse(id, life, at) ? [{ id, life }] : [])),
    );
    const there = [...noted, ...(await Promise.all(late)).flat()];
    return without(used, there).map(({ id }) => id);
  };
  return (used) => note(used).catch((error: unknown) => touchWithoutWriting(calls, [used], error));
}

function listsOf(lives: readonly Life[]): [readonly string[], readonly string[]] {
  return [lives.map(({ id }) => id), lives.map(({ life }) => life)];
}

function without(lives: readonly Life[], others: readonly Life[]): readonly Life[] {
  const known = new Set(others.map(({ id, life }) => `${life} ${id}`));
  return lives.filter(({ id, life }) => !known.has(`${life} ${id}`));
}
