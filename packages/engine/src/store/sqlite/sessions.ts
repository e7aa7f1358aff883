import type { MessageRecord } from "../../core/message.ts";
import {
  MESSAGE_PORTION_BYTES,
  type SessionStore,
  type SessionVersion,
  type ThreadQuery,
} from "../../core/ports/driven/session-store.ts";
import { hiddenFrom, type SessionAccess } from "../../core/session-access.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import type { Synchronous } from "./calls.ts";
import { prepareRemoval } from "./draft-writer.ts";
import { COUNT_SIZES, listedFor, MESSAGE_BYTES, pageEnd, partsAfter } from "../pages.ts";
import { type MessageRow, type SessionRow, toMessage, toSession, toSessionUse } from "../rows.ts";
import { expiredSessions, sessionsHeldBy, sizeOfCopy } from "../sessions.ts";
import { type Prepare, prepareWork } from "./database.ts";
import type { Transaction } from "./transaction.ts";

export function prepareSessions(prepare: Prepare, transaction: Transaction): Synchronous<SessionStore> {
  const { facts } = transaction;
  const run = prepareWork(prepare);
  const remove = prepareRemoval(prepare);
  const countSizes = prepare<[number]>(
    `${COUNT_SIZES} IN (SELECT key FROM sessions INDEXED BY sessions_without_sizes WHERE message_bytes IS NULL ORDER BY key LIMIT ?)`,
  );
  return {
    find: (at, id) => {
      const row = facts.sessionRow(id);
      return row === undefined ? null : { ...toSession(row), ...toSessionUse(row, at) };
    },
    ...prepareVersions(prepare, transaction),
    ...prepareList(prepare),
    ...prepareMessages(prepare, transaction),
    expire: (_at, input) => {
      const ended = run(expiredSessions(input));
      for (const { key } of ended) remove(key);
      return ended.map(({ id, incarnation }) => ({ id, incarnation }));
    },
    copySize: (_at, id, through, access) => run(sizeOfCopy(id, through, access)),
    heldBy: (_at, whose, after, limit) => run(sessionsHeldBy(whose, after, limit)),
    countSizes: (_at, limit) => countSizes.run(limit),
  };
}

function prepareVersions(
  prepare: Prepare,
  { facts }: Transaction,
): Pick<Synchronous<SessionStore>, "versions" | "streamedText"> {
  const version = prepare<[string], SessionVersion>(`SELECT id, life AS incarnation, app, head, epoch, (
       SELECT max(turn) || ' ' || max("offset") || ' ' || sum(length(text)) FROM checkpoints WHERE session_key = sessions.key
     ) AS streamed FROM sessions WHERE id = ?`);
  return {
    versions: (_at, ids) => ids.flatMap((id) => version.get(id) ?? []),
    streamedText: (_at, id) => {
      const session = facts.sessionById(id);
      if (session === null) return null;
      const { incarnation, head, epoch } = session;
      return {
        incarnation,
        head,
        epoch,
        text: facts.streamed(session),
        streamed: version.get(id)?.streamed ?? null,
      };
    },
  };
}

function prepareList(prepare: Prepare): Pick<Synchronous<SessionStore>, "list" | "listKeys" | "byKeys"> {
  const lists = {
    // Each part of a list is in the order of its own index.
    wallet: {
      all: prepareParts(prepare, "public_key", { pinned: "sessions_pinned", others: "sessions_by_wallet" }),
      filtered: prepareParts(prepare, "public_key", bothIn("sessions_with_metadata_by_wallet"), HAS_METADATA),
    },
    user: {
      all: prepareParts(prepare, "owned_by", bothIn("sessions_by_owner")),
      filtered: prepareParts(prepare, "owned_by", bothIn("sessions_with_metadata_by_owner"), HAS_METADATA),
    },
  };
  const listFor = ({ publicKey, metadata }: Omit<ThreadQuery, "limit">) =>
    lists[publicKey === null ? "user" : "wallet"][metadata === undefined ? "all" : "filtered"];
  const byKey = prepare<[number], SessionRow>("SELECT * FROM sessions WHERE key = ?");
  return {
    list: (_at, { limit, ...query }) => {
      const { rows } = listFor(query);
      const cells = partCells(query);
      const pinned = rows.pinned.all(...cells.pinned, limit);
      const others = rows.others.all(...cells.others, limit - pinned.length);
      return [...pinned, ...others].map(toSession);
    },
    listKeys: (_at, query) => {
      const { keys } = listFor(query);
      const cells = partCells(query);
      return [...keys.pinned.all(...cells.pinned), ...keys.others.all(...cells.others)].map(({ key }) => key);
    },
    byKeys: (_at, keys, access) =>
      keys
        .flatMap((key) => byKey.get(key) ?? [])
        .map(toSession)
        .filter((session) => hiddenFrom(session, access) === null),
  };
}

type PartCells = [
  value: string,
  apps: string,
  owner: string,
  ownerApps: string,
  provedApps: string,
  wallets: string,
  updatedAt: number,
  key: number,
  metadata: string | null,
  archived: 0 | 1 | null,
];

const bothIn = (index: string) => ({ pinned: index, others: index });
const HAS_METADATA = `metadata IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM json_each(?9) AS wanted WHERE NOT EXISTS (
    SELECT 1 FROM json_each(metadata) AS own WHERE own.key = wanted.key AND own.type = 'text' AND own.value = wanted.value
  ))`;

/** Statements for the pinned and the other sessions whose `column` has a value. */
function prepareParts(
  prepare: Prepare,
  column: "public_key" | "owned_by",
  indexes: Readonly<Record<"pinned" | "others", string>>,
  filter = "?9 IS NULL",
) {
  const part = (index: string, pinned: 0 | 1) =>
    `FROM sessions INDEXED BY ${index} WHERE ${column} = ?1 AND pinned = ${pinned} AND (updated_at, key) < (?7, ?8)
       AND coalesce(app, '${DEFAULT_APP}') IN (SELECT value FROM json_each(?2))
       AND (owned_by IS NULL OR owned_by = ?3 AND (app IS NULL OR app IN (SELECT value FROM json_each(?4))))
       AND (wallet_id IS NULL OR coalesce(app, '${DEFAULT_APP}') NOT IN (SELECT value FROM json_each(?5))
         OR wallet_id IN (SELECT value FROM json_each(?6)))
       AND ${filter}
       AND (?10 IS NULL OR archived = ?10)
     ORDER BY updated_at DESC, key DESC`;
  const parts = { pinned: part(indexes.pinned, 1), others: part(indexes.others, 0) };
  return {
    rows: {
      pinned: prepare<[...PartCells, number], SessionRow>(`SELECT * ${parts.pinned} LIMIT ?11`),
      others: prepare<[...PartCells, number], SessionRow>(`SELECT * ${parts.others} LIMIT ?11`),
    },
    keys: {
      pinned: prepare<PartCells, { readonly key: number }>(`SELECT key ${parts.pinned}`),
      others: prepare<PartCells, { readonly key: number }>(`SELECT key ${parts.others}`),
    },
  };
}

function partCells({
  publicKey,
  access,
  after,
  metadata,
  archived,
}: Omit<ThreadQuery, "limit">): Readonly<Record<"pinned" | "others", PartCells>> {
  const { owner, apps, ownerApps, provedApps, wallets } = listedFor(publicKey, access);
  const who = [
    publicKey ?? owner,
    JSON.stringify(apps),
    owner,
    JSON.stringify(ownerApps),
    JSON.stringify(provedApps),
    JSON.stringify(wallets),
  ] as const;
  const { pinned, others } = partsAfter(after);
  const wanted = [
    metadata === undefined ? null : JSON.stringify(metadata),
    archived === undefined ? null : archived ? 1 : 0,
  ] as const;
  return {
    pinned: [...who, pinned.updatedAt, pinned.key, ...wanted],
    others: [...who, others.updatedAt, others.key, ...wanted],
  };
}

function prepareMessages(
  prepare: Prepare,
  { facts }: Transaction,
): Pick<Synchronous<SessionStore>, "messagePage" | "messages"> {
  const positionOf = prepare<[number, string], { readonly position: number }>(
    "SELECT position FROM messages WHERE session_key = ? AND id = ?",
  );
  const inOrder = "FROM messages WHERE session_key = ? AND position > ? ORDER BY position LIMIT ?";
  const sizes = prepare<[number, number, number], { readonly id: string; readonly bytes: number }>(
    `SELECT id, ${MESSAGE_BYTES} AS bytes ${inOrder}`,
  );
  const portion = prepare<[number, number, number], MessageRow & { readonly bytes: number }>(
    `SELECT *, ${MESSAGE_BYTES} AS bytes ${inOrder}`,
  );
  /** Returns the position in the session at which a page begins. */
  const beginning = (id: string, after: string | null, access: SessionAccess | null) => {
    const row = facts.sessionRow(id);
    if (row === undefined) return null;
    const hidden = hiddenFrom({ app: row.app, owner: row.owned_by }, access);
    if (hidden !== null) return hidden;
    const position = after === null ? 0 : positionOf.get(row.key, after)?.position;
    return position === undefined ? null : { row, position };
  };
  return {
    messagePage: (at, id, after, { limit, bytes }, access) => {
      const from = beginning(id, after, access);
      if (from === null || typeof from === "string") return from;
      const following = sizes.iterate(from.row.key, from.position, limit + 1);
      return { ...pageEnd(following, limit, bytes), session: toSessionUse(from.row, at) };
    },
    messages: (_at, id, after, limit, access, incarnation) => {
      const from = beginning(id, after, access);
      if (from === null || typeof from === "string") return from;
      if (incarnation !== undefined && incarnation !== from.row.life) return null;
      const messages: MessageRecord[] = [];
      let bytes = 0;
      for (const row of portion.iterate(from.row.key, from.position, limit)) {
        messages.push(toMessage(row));
        bytes += row.bytes;
        if (bytes >= MESSAGE_PORTION_BYTES) break;
      }
      return messages;
    },
  };
}
