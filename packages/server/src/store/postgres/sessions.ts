import { dispositionOf } from "../../core/commands/disposition.ts";
import { decideModel, decideOpen, decideRename } from "../../core/commands/settings.ts";
import {
  MESSAGE_PORTION_BYTES,
  type SessionStore,
  type SessionUse,
  type SessionVersion,
  type StreamedText,
} from "../../core/ports/driven/session-store.ts";
import { countsAs, DEFAULT_APP } from "../../core/session.ts";
import { BEFORE_ALL, MESSAGE_BYTES, pageEnd } from "../pages.ts";
import { toMessage, toSession, toSessionUse, type MessageRow, type SessionRow } from "../rows.ts";
import { ofSession, PASSED_OVER, type Calls } from "./calls.ts";
import { expireSessions } from "./expiry.ts";
import { openWithoutWriting, touchWithoutWriting } from "./full-disk.ts";
import { removeSessions } from "./removal.ts";
import { lockSessions } from "./session-locks.ts";
import { countSizesWith } from "./sizes.ts";
import { prepare } from "./statement.ts";
import { MESSAGE, of, SESSION } from "./columns.ts";
import type { Connection } from "./connections.ts";

const byId = prepare<[string], SessionRow & { readonly now: number }>(
  `SELECT ${SESSION}, floor(extract(epoch FROM now()) * 1000)::bigint AS now FROM sessions WHERE id = $1`,
);

export function sessionsOf(calls: Calls): SessionStore {
  const existing = (id: string) => ({ id, birth: null, load: false });
  return {
    open: openWith(calls),
    find: (id) =>
      calls.look(ofSession(id), async (connection, at) => {
        const row = await byId.get(connection, id);
        return row === undefined ? null : { ...toSession(row), ...toSessionUse(row, at ?? row.now) };
      }),
    ...versionsWith(calls),
    ...listWith(calls),
    rename: (id, title, apps) =>
      calls.change(id, {}, (transaction, at) =>
        transaction.change(at, existing(id), (draft) => decideRename(draft, title, apps), dispositionOf),
      ),
    setModel: (target, choice) =>
      calls.change(target.id, { all: target.load, mayBegin: target.birth !== null }, (transaction, at) =>
        transaction.change(at, target, (draft) => decideModel(draft, choice), dispositionOf),
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
        return { life: row.life, spelling: row.spelling ?? row.id };
      }),
    ...messagesWith(calls),
    touch: touchWith(calls),
    expire: (input) => calls.alone("expiry", (connection) => expireSessions(connection, input)),
    countSizes: countSizesWith(calls),
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
        transaction.change(at, target, (draft) => decideOpen(draft, input, apps), dispositionOf),
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

const keysOfWallet = prepare<[string, readonly string[], number, number], { readonly key: number }>(
  `SELECT key FROM sessions WHERE ${OF_APPS} AND (updated_at, key) < ($3, $4) ORDER BY updated_at DESC, key DESC`,
);
const byKeys = prepare<[readonly number[]], SessionRow>(
  `SELECT ${of("s", SESSION)} FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (key, place)
   JOIN sessions AS s USING (key) ORDER BY place`,
);

function listWith(calls: Calls): Pick<SessionStore, "list" | "listKeys" | "byKeys"> {
  return {
    list: ({ publicKey, apps, limit, after }) =>
      calls.look(null, async (connection) => {
        const rows =
          after === null
            ? await firstOfWallet.all(connection, publicKey, apps, limit)
            : await furtherOfWallet.all(connection, publicKey, apps, limit, after.updatedAt, after.key);
        return rows.map(toSession);
      }),
    listKeys: ({ publicKey, apps, after }) =>
      calls.look(null, async (connection) => {
        const { updatedAt, key } = after ?? BEFORE_ALL;
        const rows = await keysOfWallet.all(connection, publicKey, apps, updatedAt, key);
        return rows.map((row) => row.key);
      }),
    byKeys: (keys, apps) =>
      calls.look(null, async (connection) => {
        const sessions = (await byKeys.all(connection, keys)).map(toSession);
        return sessions.filter((session) => countsAs(session, apps));
      }),
  };
}

const positionOf = prepare<[number, string], { readonly position: number }>(
  "SELECT position FROM messages WHERE session_key = $1 AND id = $2",
);
const IN_ORDER = "FROM messages WHERE session_key = $1 AND position > $2 ORDER BY position LIMIT $3";
const sizesAfter = prepare<[number, number, number], { readonly id: string; readonly bytes: number }>(
  `SELECT id, ${MESSAGE_BYTES} AS bytes ${IN_ORDER}`,
);
// Measured first, so that no text beyond the portion is read or sent.
const messagesAfter = prepare<[number, number, number, number], MessageRow>(
  `SELECT ${of("m", MESSAGE)} FROM (
     SELECT position, sum(bytes) OVER (ORDER BY position) - bytes AS before
     FROM (SELECT position, ${MESSAGE_BYTES} AS bytes ${IN_ORDER}) AS sizes
   ) AS measured JOIN messages AS m ON m.session_key = $1 AND m.position = measured.position
   WHERE before < $4::bigint ORDER BY m.position`,
);

interface PlacedSession {
  readonly key: number;
  readonly position: number;
  readonly use: SessionUse;
}

function messagesWith(calls: Calls): Pick<SessionStore, "messagePage" | "messages"> {
  const fromPlace = <Result>(
    [id, after, apps]: readonly [string, string | null, readonly string[] | undefined],
    read: (connection: Connection, session: PlacedSession) => Promise<Result>,
  ) =>
    calls.read(ofSession(id), async (connection, at) => {
      const session = await byId.get(connection, id);
      if (session === undefined) return null;
      if (!countsAs(session, apps)) return "other_app";
      const position = after === null ? 0 : (await positionOf.get(connection, session.key, after))?.position;
      if (position === undefined) return null;
      return await read(connection, {
        key: session.key,
        position,
        use: toSessionUse(session, at ?? session.now),
      });
    });
  return {
    messagePage: (id, after, { limit, bytes }, apps) =>
      fromPlace([id, after, apps], async (connection, { key, position, use }) => {
        const sizes = await sizesAfter.all(connection, key, position, limit + 1);
        return { ...pageEnd(sizes, limit, bytes), session: use };
      }),
    messages: (id, after, limit, apps) =>
      fromPlace([id, after, apps], async (connection, { key, position }) => {
        const rows = await messagesAfter.all(connection, key, position, limit, MESSAGE_PORTION_BYTES);
        return rows.map(toMessage);
      }),
  };
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
