import type { MessageRecord } from "../../core/message.ts";
import {
  MESSAGE_PORTION_BYTES,
  type SessionStore,
  type SessionVersion,
} from "../../core/ports/driven/session-store.ts";
import { belongsToAny, DEFAULT_APP } from "../../core/session.ts";
import type { Synchronous } from "./calls.ts";
import { prepareRemoval } from "./draft-writer.ts";
import { COUNT_SIZES, expiries, MESSAGE_BYTES, pageEnd, partsAfter } from "../pages.ts";
import { toMessage, toSession, toSessionUse, type MessageRow, type SessionRow } from "../rows.ts";
import type { Prepare } from "./statement.ts";
import type { Transaction } from "./transaction.ts";

interface LifeRow {
  readonly key: number;
  readonly id: string;
  readonly life: string;
}

export function prepareSessions(prepare: Prepare, transaction: Transaction): Synchronous<SessionStore> {
  const { facts } = transaction;
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
    expire: prepareExpire(prepare, remove),
    countSizes: (_at, limit) => countSizes.run(limit),
  };
}

function prepareVersions(
  prepare: Prepare,
  { facts }: Transaction,
): Pick<Synchronous<SessionStore>, "versions" | "streamedText"> {
  const version = prepare<[string], SessionVersion>(`SELECT id, life, app, head, epoch, (
       SELECT max(turn) || ' ' || max("offset") || ' ' || sum(length(text)) FROM checkpoints WHERE session_key = sessions.key
     ) AS streamed FROM sessions WHERE id = ?`);
  return {
    versions: (_at, ids) => ids.flatMap((id) => version.get(id) ?? []),
    streamedText: (_at, id) => {
      const session = facts.sessionById(id);
      if (session === null) return null;
      const { life, head, epoch } = session;
      return {
        life,
        head,
        epoch,
        text: facts.streamed(session),
        streamed: version.get(id)?.streamed ?? null,
      };
    },
  };
}

function prepareList(prepare: Prepare): Pick<Synchronous<SessionStore>, "list" | "listKeys" | "byKeys"> {
  // Each part of a list is in the order of its own index.
  const part = (index: string, pinned: 0 | 1) =>
    `FROM sessions INDEXED BY ${index} WHERE public_key = ?1 AND pinned = ${pinned} AND (updated_at, key) < (?3, ?4)
       AND coalesce(app, '${DEFAULT_APP}') IN (SELECT value FROM json_each(?2)) ORDER BY updated_at DESC, key DESC`;
  const parts = { pinned: part("sessions_pinned", 1), others: part("sessions_by_wallet", 0) };
  type Page = [publicKey: string, apps: string, updatedAt: number, key: number, limit: number];
  const rows = {
    pinned: prepare<Page, SessionRow>(`SELECT * ${parts.pinned} LIMIT ?5`),
    others: prepare<Page, SessionRow>(`SELECT * ${parts.others} LIMIT ?5`),
  };
  type All = [publicKey: string, apps: string, updatedAt: number, key: number];
  const keys = {
    pinned: prepare<All, { readonly key: number }>(`SELECT key ${parts.pinned}`),
    others: prepare<All, { readonly key: number }>(`SELECT key ${parts.others}`),
  };
  const byKey = prepare<[number], SessionRow>("SELECT * FROM sessions WHERE key = ?");
  return {
    list: (_at, { publicKey, apps, limit, after }) => {
      const among = JSON.stringify(apps);
      const from = partsAfter(after);
      const pinned = rows.pinned.all(publicKey, among, from.pinned.updatedAt, from.pinned.key, limit);
      const left = limit - pinned.length;
      const others = rows.others.all(publicKey, among, from.others.updatedAt, from.others.key, left);
      return [...pinned, ...others].map(toSession);
    },
    listKeys: (_at, { publicKey, apps, after }) => {
      const among = JSON.stringify(apps);
      const from = partsAfter(after);
      const pinned = keys.pinned.all(publicKey, among, from.pinned.updatedAt, from.pinned.key);
      const others = keys.others.all(publicKey, among, from.others.updatedAt, from.others.key);
      return [...pinned, ...others].map(({ key }) => key);
    },
    byKeys: (_at, wanted, apps) =>
      wanted
        .flatMap((key) => byKey.get(key) ?? [])
        .map(toSession)
        .filter((session) => belongsToAny(session, apps)),
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
  const beginning = (id: string, after: string | null, apps: readonly string[] | undefined) => {
    const row = facts.sessionRow(id);
    if (row === undefined) return null;
    if (!belongsToAny(row, apps)) return "other_app";
    const position = after === null ? 0 : positionOf.get(row.key, after)?.position;
    return position === undefined ? null : { row, position };
  };
  return {
    messagePage: (at, id, after, { limit, bytes }, apps) => {
      const from = beginning(id, after, apps);
      if (from === null || from === "other_app") return from;
      const following = sizes.iterate(from.row.key, from.position, limit + 1);
      return { ...pageEnd(following, limit, bytes), session: toSessionUse(from.row, at) };
    },
    messages: (_at, id, after, limit, apps, life) => {
      const from = beginning(id, after, apps);
      if (from === null || from === "other_app") return from;
      if (life !== undefined && life !== from.row.life) return null;
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

function prepareExpire(prepare: Prepare, remove: (key: number) => void): Synchronous<SessionStore>["expire"] {
  const ofDefault = prepare<
    [number, number, number],
    LifeRow
  >(`SELECT key, id, life FROM sessions INDEXED BY sessions_by_use
     WHERE retention < 2 AND coalesce(app, 'default') = 'default' AND retention = ? AND used_at < ? AND status <> 'processing'
     ORDER BY used_at LIMIT ?`);
  const ofApp = prepare<
    [string, number, number, number],
    LifeRow
  >(`SELECT key, id, life FROM sessions INDEXED BY sessions_by_app_and_use
     WHERE retention < 2 AND app <> 'default' AND app = ? AND retention = ? AND used_at < ? AND status <> 'processing'
     ORDER BY used_at LIMIT ?`);
  // One index lookup per App, however many sessions it has.
  const otherApps = prepare<[], { readonly app: string }>(`WITH RECURSIVE apps (app) AS (
       SELECT min(app) FROM sessions INDEXED BY sessions_by_app_and_use WHERE retention < 2 AND app <> 'default'
       UNION ALL
       SELECT (SELECT min(s.app) FROM sessions AS s INDEXED BY sessions_by_app_and_use
               WHERE s.retention < 2 AND s.app <> 'default' AND s.app > apps.app)
       FROM apps WHERE apps.app IS NOT NULL
     )
     SELECT app FROM apps WHERE app IS NOT NULL`);
  return (_at, input) => {
    const ended: LifeRow[] = [];
    for (const { app, retention, before } of expiries(input, otherApps.all())) {
      const left = input.limit - ended.length;
      const found =
        app === null ? ofDefault.all(retention, before, left) : ofApp.all(app, retention, before, left);
      ended.push(...found);
    }
    for (const { key } of ended) remove(key);
    return ended.map(({ id, life }) => ({ id, life }));
  };
}
