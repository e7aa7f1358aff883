import {
  MESSAGE_PORTION_BYTES,
  type SessionStore,
  type SessionUse,
  type SessionVersion,
  type StreamedText,
  type ThreadQuery,
} from "@colloquy/engine/internal/core/ports/driven/session-store";
import { hiddenFrom, type SessionAccess } from "@colloquy/engine/internal/core/session-access";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import {
  COUNT_SIZES,
  listedFor,
  MESSAGE_BYTES,
  pageEnd,
  partsAfter,
} from "@colloquy/engine/internal/store/pages";
import {
  toMessage,
  toSession,
  toSessionUse,
  type MessageRow,
  type SessionRow,
} from "@colloquy/engine/internal/store/rows";
import { ofSession } from "@colloquy/engine/internal/store/shared";
import type { Calls } from "./calls.ts";
import { removeSessions } from "./draft-writer.ts";
import { expiredSessions, sessionsHeldBy, sizeOfCopy } from "@colloquy/engine/internal/store/sessions";
import { prepare, runOn } from "./statement.ts";
import { MESSAGE, of, SESSION } from "@colloquy/engine/internal/store/columns";
import type { Connection } from "./connections.ts";

const byId = prepare<[string], SessionRow & { readonly now: number }>(
  `SELECT ${SESSION}, floor(extract(epoch FROM now()) * 1000)::bigint AS now FROM sessions WHERE id = $1`,
);

export function sessionsOf(calls: Calls): SessionStore {
  return {
    find: (id) =>
      calls.look(ofSession(id), async (connection, at) => {
        const row = await byId.get(connection, id);
        return row === undefined ? null : { ...toSession(row), ...toSessionUse(row, at ?? row.now) };
      }),
    ...versionsWith(calls),
    ...listWith(calls),
    ...messagesWith(calls),
    expire: (input) => calls.alone("expiry", (connection) => expireSessions(connection, input)),
    copySize: (id, through, access) =>
      calls.read(ofSession(id), (connection) => runOn(connection, sizeOfCopy(id, through, access))),
    heldBy: (whose, after, limit) =>
      calls.look("users", (connection) => runOn(connection, sessionsHeldBy(whose, after, limit))),
    countSizes: countSizesWith(calls),
  };
}

const STREAMED = `(
  SELECT max(turn) || ' ' || max("offset") || ' ' || sum(length(text)) FROM checkpoints WHERE session_key = sessions.key
) AS streamed`;
const versions = prepare<[readonly string[]], SessionVersion>(
  `SELECT id, life AS incarnation, app, head, epoch, ${STREAMED} FROM sessions WHERE id = ANY($1::text[])`,
);
const streamedText = prepare<[string], Omit<StreamedText, "text"> & { readonly text: string | null }>(
  `SELECT life AS incarnation, head, epoch, ${STREAMED}, (
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

const SHOWN = `coalesce(app, '${DEFAULT_APP}') = ANY($2::text[])
  AND (owned_by IS NULL OR owned_by = $3 AND (app IS NULL OR app = ANY($4::text[])))
  AND (wallet_id IS NULL OR coalesce(app, '${DEFAULT_APP}') <> ALL($5::text[]) OR wallet_id = ANY($6::text[]))`;
const NEWEST_FIRST = "ORDER BY updated_at DESC, key DESC";
/** Reads two parts, each in the order of its own index. `limit` applies to each part and to their union. */
function inParts(
  columns: string,
  of: "public_key" | "owned_by",
  { filter, limit }: { readonly filter: string; readonly limit: string },
): string {
  const part = (pinned: 0 | 1, after: string) =>
    `SELECT ${columns} FROM sessions WHERE ${of} = $1 AND ${SHOWN} AND pinned = ${pinned} AND (updated_at, key) < ${after} AND ${filter}
       AND ($12::smallint IS NULL OR archived = $12::smallint)`;
  return `SELECT * FROM (
    (${part(1, "($7, $8)")} ${NEWEST_FIRST} ${limit})
    UNION ALL
    (${part(0, "($9, $10)")} ${NEWEST_FIRST} ${limit})
  ) AS found ORDER BY pinned DESC, updated_at DESC, key DESC ${limit}`;
}
type Parts = [
  value: string,
  apps: readonly string[],
  owner: string,
  ownerApps: readonly string[],
  provedApps: readonly string[],
  wallets: readonly string[],
  pinnedUpdatedAt: number,
  pinnedKey: number,
  othersUpdatedAt: number,
  othersKey: number,
  metadata: string | null,
  archived: 0 | 1 | null,
];
const NO_FILTER = "$11::text IS NULL";
const HAS_METADATA = "metadata IS NOT NULL AND metadata::jsonb @> $11::jsonb";
const LISTS = {
  wallet: { all: listOf("public_key", NO_FILTER), filtered: listOf("public_key", HAS_METADATA) },
  user: { all: listOf("owned_by", NO_FILTER), filtered: listOf("owned_by", HAS_METADATA) },
};

function listOf(column: "public_key" | "owned_by", filter: string) {
  const keys = "key, pinned, updated_at";
  return {
    rows: prepare<[...Parts, number], SessionRow>(inParts(SESSION, column, { filter, limit: "LIMIT $13" })),
    keys: prepare<Parts, { readonly key: number }>(inParts(keys, column, { filter, limit: "" })),
  };
}

function listFor({ publicKey, metadata }: Omit<ThreadQuery, "limit">) {
  return LISTS[publicKey === null ? "user" : "wallet"][metadata === undefined ? "all" : "filtered"];
}

function partsOf({ publicKey, access, after, metadata, archived }: Omit<ThreadQuery, "limit">): Parts {
  const { pinned, others } = partsAfter(after);
  const { owner, apps, ownerApps, provedApps, wallets } = listedFor(publicKey, access);
  const places = [pinned.updatedAt, pinned.key, others.updatedAt, others.key] as const;
  const wanted = [
    metadata === undefined ? null : JSON.stringify(metadata),
    archived === undefined ? null : archived ? 1 : 0,
  ] as const;
  return [publicKey ?? owner, apps, owner, ownerApps, provedApps, wallets, ...places, ...wanted];
}

const byKeys = prepare<[readonly number[]], SessionRow>(
  `SELECT ${of("s", SESSION)} FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (key, place)
   JOIN sessions AS s USING (key) ORDER BY place`,
);

function listWith(calls: Calls): Pick<SessionStore, "list" | "listKeys" | "byKeys"> {
  return {
    list: ({ limit, ...query }) =>
      calls.look(null, async (connection) => {
        const { rows } = listFor(query);
        return (await rows.all(connection, ...partsOf(query), limit)).map(toSession);
      }),
    listKeys: (query) =>
      calls.look(null, async (connection) => {
        const { keys } = listFor(query);
        return (await keys.all(connection, ...partsOf(query))).map(({ key }) => key);
      }),
    byKeys: (keys, access) =>
      calls.look(null, async (connection) => {
        const sessions = (await byKeys.all(connection, keys)).map(toSession);
        return sessions.filter((session) => hiddenFrom(session, access) === null);
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
// Measure first, so that no text beyond the portion is read or sent.
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
    [id, after, access]: readonly [string, string | null, SessionAccess | null],
    read: (connection: Connection, session: PlacedSession) => Promise<Result>,
  ) =>
    calls.read(ofSession(id), async (connection, at) => {
      const session = await byId.get(connection, id);
      if (session === undefined) return null;
      const hidden = hiddenFrom({ app: session.app, owner: session.owned_by }, access);
      if (hidden !== null) return hidden;
      const position = after === null ? 0 : (await positionOf.get(connection, session.key, after))?.position;
      if (position === undefined) return null;
      return await read(connection, {
        key: session.key,
        position,
        use: toSessionUse(session, at ?? session.now),
      });
    });
  return {
    messagePage: (id, after, { limit, bytes }, access) =>
      fromPlace([id, after, access], async (connection, { key, position, use }) => {
        const sizes = await sizesAfter.all(connection, key, position, limit + 1);
        return { ...pageEnd(sizes, limit, bytes), session: use };
      }),
    messages: (id, after, limit, access, incarnation) =>
      fromPlace([id, after, access], async (connection, { key, position, use }) => {
        if (incarnation !== undefined && incarnation !== use.incarnation) return null;
        const rows = await messagesAfter.all(connection, key, position, limit, MESSAGE_PORTION_BYTES);
        return rows.map(toMessage);
      }),
  };
}

async function expireSessions(
  connection: Connection,
  input: Parameters<SessionStore["expire"]>[0],
): Promise<Awaited<ReturnType<SessionStore["expire"]>>> {
  const ended = await runOn(connection, expiredSessions(input));
  await removeSessions(
    connection,
    ended.map(({ key }) => key),
  );
  return ended.map(({ id, incarnation }) => ({ id, incarnation }));
}

// SKIP LOCKED: never wait for a session that is in use; the next cleanup finds it again.
const lockUncounted = prepare<[number, number], { readonly key: number }>(
  `SELECT key FROM sessions WHERE message_bytes IS NULL AND key > $1 ORDER BY key LIMIT $2 FOR UPDATE SKIP LOCKED`,
);
// A separate statement, which sees everything committed before the locks were taken.
const countSizes = prepare<[readonly number[]]>(`${COUNT_SIZES} = ANY($1::bigint[])`);

function countSizesWith(calls: Calls): SessionStore["countSizes"] {
  // Continue after the last counted key: until a vacuum, the index still has entries of counted sessions.
  let position = 0;
  return async (limit) => {
    const keys = await calls.alone("sizes", async (connection) => {
      const rows = await lockUncounted.all(connection, position, limit);
      const keys = rows.map(({ key }) => key);
      if (keys.length > 0) await countSizes.run(connection, keys);
      return keys;
    });
    position = keys.length < limit ? 0 : (keys.at(-1) ?? 0);
    return keys.length;
  };
}
