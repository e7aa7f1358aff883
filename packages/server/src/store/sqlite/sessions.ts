import type { DatabaseSync } from "node:sqlite";
import type { MessageRecord } from "../../core/message.ts";
import {
  MESSAGE_PORTION_BYTES,
  type SessionStore,
  type SessionVersion,
} from "../../core/ports/driven/session-store.ts";
import { countsAs, DEFAULT_APP } from "../../core/session.ts";
import type { Synchronous } from "./calls.ts";
import { prepareRemoval } from "./removal.ts";
import type { SessionPort } from "../command-methods.ts";
import { BEFORE_ALL, COUNT_SIZES, MESSAGE_BYTES, pageEnd } from "../pages.ts";
import { toMessage, toSession, toSessionUse, type MessageRow, type SessionRow } from "../rows.ts";
import { prepare } from "./statement.ts";
import type { Transaction } from "./transaction.ts";

interface LifeRow {
  readonly key: number;
  readonly id: string;
  readonly life: string;
}

export function prepareSessions(database: DatabaseSync, transaction: Transaction): Synchronous<SessionPort> {
  const { facts } = transaction;
  const remove = prepareRemoval(database);
  const countSizes = prepare<[number]>(
    database,
    `${COUNT_SIZES} IN (SELECT key FROM sessions INDEXED BY sessions_without_sizes WHERE message_bytes IS NULL ORDER BY key LIMIT ?)`,
  );
  return {
    find: (at, id) => {
      const row = facts.sessionRow(id);
      return row === undefined ? null : { ...toSession(row), ...toSessionUse(row, at) };
    },
    ...prepareVersions(database, transaction),
    ...prepareList(database),
    ...prepareMessages(database, transaction),
    expire: prepareExpire(database, remove),
    countSizes: (_at, limit) => countSizes.run(limit),
  };
}

function prepareVersions(
  database: DatabaseSync,
  { facts }: Transaction,
): Pick<Synchronous<SessionStore>, "versions" | "streamedText"> {
  const version = prepare<[string], SessionVersion>(
    database,
    `SELECT id, life, app, head, epoch, (
       SELECT max(turn) || ' ' || max("offset") || ' ' || sum(length(text)) FROM checkpoints WHERE session_key = sessions.key
     ) AS streamed FROM sessions WHERE id = ?`,
  );
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

function prepareList(
  database: DatabaseSync,
): Pick<Synchronous<SessionStore>, "list" | "listKeys" | "byKeys"> {
  const ofWallet = "FROM sessions INDEXED BY sessions_by_wallet WHERE public_key = ?1";
  const columns = `SELECT * ${ofWallet}`;
  const ofApps = `coalesce(app, '${DEFAULT_APP}') IN (SELECT value FROM json_each(?2))`;
  const order = "ORDER BY updated_at DESC, key DESC LIMIT ?3";
  const first = prepare<[string, string, number], SessionRow>(database, `${columns} AND ${ofApps} ${order}`);
  const further = prepare<[string, string, number, number, number], SessionRow>(
    database,
    `${columns} AND (updated_at, key) < (?4, ?5) AND ${ofApps} ${order}`,
  );
  const keys = prepare<[string, string, number, number], { readonly key: number }>(
    database,
    `SELECT key ${ofWallet} AND (updated_at, key) < (?3, ?4) AND ${ofApps} ORDER BY updated_at DESC, key DESC`,
  );
  const byKey = prepare<[number], SessionRow>(database, "SELECT * FROM sessions WHERE key = ?");
  return {
    list: (_at, { publicKey, apps, limit, after }) => {
      const among = JSON.stringify(apps);
      const rows =
        after === null
          ? first.all(publicKey, among, limit)
          : further.all(publicKey, among, limit, after.updatedAt, after.key);
      return rows.map(toSession);
    },
    listKeys: (_at, { publicKey, apps, after }) => {
      const { updatedAt, key } = after ?? BEFORE_ALL;
      return keys.all(publicKey, JSON.stringify(apps), updatedAt, key).map((row) => row.key);
    },
    byKeys: (_at, wanted, apps) =>
      wanted
        .flatMap((key) => byKey.get(key) ?? [])
        .map(toSession)
        .filter((session) => countsAs(session, apps)),
  };
}

function prepareMessages(
  database: DatabaseSync,
  { facts }: Transaction,
): Pick<Synchronous<SessionStore>, "messagePage" | "messages"> {
  const positionOf = prepare<[number, string], { readonly position: number }>(
    database,
    "SELECT position FROM messages WHERE session_key = ? AND id = ?",
  );
  const inOrder = "FROM messages WHERE session_key = ? AND position > ? ORDER BY position LIMIT ?";
  const sizes = database.prepare(`SELECT id, ${MESSAGE_BYTES} AS bytes ${inOrder}`);
  const portion = database.prepare(`SELECT *, ${MESSAGE_BYTES} AS bytes ${inOrder}`);
  /** Where in the session it begins. */
  const beginning = (id: string, after: string | null, apps: readonly string[] | undefined) => {
    const row = facts.sessionRow(id);
    if (row === undefined) return null;
    if (!countsAs(row, apps)) return "other_app";
    const position = after === null ? 0 : positionOf.get(row.key, after)?.position;
    return position === undefined ? null : { row, position };
  };
  return {
    messagePage: (at, id, after, { limit, bytes }, apps) => {
      const from = beginning(id, after, apps);
      if (from === null || from === "other_app") return from;
      const following = sizes.iterate(from.row.key, from.position, limit + 1) as Iterable<never>;
      return { ...pageEnd(following, limit, bytes), session: toSessionUse(from.row, at) };
    },
    messages: (_at, id, after, limit, apps) => {
      const from = beginning(id, after, apps);
      if (from === null || from === "other_app") return from;
      const messages: MessageRecord[] = [];
      let bytes = 0;
      for (const row of portion.iterate(from.row.key, from.position, limit)) {
        messages.push(toMessage(row as unknown as MessageRow));
        bytes += Number(row["bytes"]);
        if (bytes >= MESSAGE_PORTION_BYTES) break;
      }
      return messages;
    },
  };
}

function prepareExpire(
  database: DatabaseSync,
  remove: (key: number) => void,
): Synchronous<SessionStore>["expire"] {
  const ofDefault = prepare<[number, number, number], LifeRow>(
    database,
    `SELECT key, id, life FROM sessions INDEXED BY sessions_by_use
     WHERE retention < 2 AND coalesce(app, 'default') = 'default' AND retention = ? AND used_at < ? AND status <> 'processing'
     ORDER BY used_at LIMIT ?`,
  );
  const ofApp = prepare<[string, number, number, number], LifeRow>(
    database,
    `SELECT key, id, life FROM sessions INDEXED BY sessions_by_app_and_use
     WHERE retention < 2 AND app <> 'default' AND app = ? AND retention = ? AND used_at < ? AND status <> 'processing'
     ORDER BY used_at LIMIT ?`,
  );
  // One look into the index for each App, however many sessions it has.
  const otherApps = prepare<[], { readonly app: string }>(
    database,
    `WITH RECURSIVE apps (app) AS (
       SELECT min(app) FROM sessions INDEXED BY sessions_by_app_and_use WHERE retention < 2 AND app <> 'default'
       UNION ALL
       SELECT (SELECT min(s.app) FROM sessions AS s INDEXED BY sessions_by_app_and_use
               WHERE s.retention < 2 AND s.app <> 'default' AND s.app > apps.app)
       FROM apps WHERE apps.app IS NOT NULL
     )
     SELECT app FROM apps WHERE app IS NOT NULL`,
  );
  return (_at, { byApp = {}, limit, ...others }) => {
    const times = new Map(Object.entries(byApp));
    const ended: LifeRow[] = [];
    const end = (app: string | null): void => {
      const { emptyBefore, unboundBefore } = (app === null ? null : times.get(app)) ?? others;
      const find = (retention: number, before: number): LifeRow[] =>
        app === null
          ? ofDefault.all(retention, before, limit - ended.length)
          : ofApp.all(app, retention, before, limit - ended.length);
      // An empty session goes at whichever time comes first, with a wallet or without.
      ended.push(...find(0, Math.max(emptyBefore, unboundBefore)));
      ended.push(...find(1, unboundBefore));
    };
    end(null);
    for (const { app } of otherApps.all()) end(app);
    for (const { key } of ended) remove(key);
    return ended.map(({ id, life }) => ({ id, life }));
  };
}
