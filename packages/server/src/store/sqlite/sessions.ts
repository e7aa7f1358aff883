import type { DatabaseSync } from "node:sqlite";
import { fateOf } from "../../core/decisions/fate.ts";
import { decideModel, decideOpen, decideRename } from "../../core/decisions/settings.ts";
import type { SessionStore, SessionVersion } from "../../core/ports/session-store.ts";
import { countsAs, DEFAULT_APP } from "../../core/session.ts";
import type { Synchronous } from "./calls.ts";
import { prepareRemoval } from "./removal.ts";
import { toMessage, toSession, type MessageRow, type SessionRow } from "../rows.ts";
import { prepare } from "./statement.ts";
import type { Transaction } from "./transaction.ts";

interface LifeRow {
  readonly key: number;
  readonly id: string;
  readonly life: string;
}

export function prepareSessions(database: DatabaseSync, transaction: Transaction): Synchronous<SessionStore> {
  const { facts, change } = transaction;
  const remove = prepareRemoval(database);
  const existing = (id: string) => ({ id, birth: null, load: false });
  return {
    open: (at, target, input, apps) => change(at, target, (draft) => decideOpen(draft, input, apps), fateOf),
    find: (_at, id) => facts.sessionById(id),
    ...prepareVersions(database, transaction),
    list: prepareList(database),
    rename: (at, id, title, apps) =>
      change(at, existing(id), (draft) => decideRename(draft, title, apps), fateOf),
    setModel: (at, target, choice) => change(at, target, (draft) => decideModel(draft, choice), fateOf),
    remove: (_at, id, apps) => {
      const session = facts.sessionById(id);
      if (session === null) return null;
      if (!countsAs(session, apps)) return "other_app";
      remove(session.key);
      return { life: session.life };
    },
    messages: prepareMessages(database, transaction),
    touch: prepareTouch(database),
    expire: prepareExpire(database, remove),
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

function prepareList(database: DatabaseSync): Synchronous<SessionStore>["list"] {
  const columns = "SELECT * FROM sessions INDEXED BY sessions_by_wallet WHERE public_key = ?1";
  const ofApps = `coalesce(app, '${DEFAULT_APP}') IN (SELECT value FROM json_each(?2))`;
  const order = "ORDER BY updated_at DESC, key DESC LIMIT ?3";
  const first = prepare<[string, string, number], SessionRow>(database, `${columns} AND ${ofApps} ${order}`);
  const further = prepare<[string, string, number, number, number], SessionRow>(
    database,
    `${columns} AND (updated_at, key) < (?4, ?5) AND ${ofApps} ${order}`,
  );
  return (_at, { publicKey, apps, limit, after }) => {
    const among = JSON.stringify(apps);
    const rows =
      after === null
        ? first.all(publicKey, among, limit)
        : further.all(publicKey, among, limit, after.updatedAt, after.key);
    return rows.map(toSession);
  };
}

function prepareMessages(
  database: DatabaseSync,
  { facts }: Transaction,
): Synchronous<SessionStore>["messages"] {
  const positionOf = prepare<[number, string], { readonly position: number }>(
    database,
    "SELECT position FROM messages WHERE session_key = ? AND id = ?",
  );
  const page = prepare<[number, number, number], MessageRow>(
    database,
    "SELECT * FROM messages WHERE session_key = ? AND position > ? ORDER BY position LIMIT ?",
  );
  return (_at, id, after, limit, apps) => {
    const session = facts.sessionById(id);
    if (session === null) return null;
    if (!countsAs(session, apps)) return "other_app";
    const position = after === null ? 0 : positionOf.get(session.key, after)?.position;
    return position === undefined ? null : page.all(session.key, position, limit).map(toMessage);
  };
}

function prepareTouch(database: DatabaseSync): Synchronous<SessionStore>["touch"] {
  const note = prepare<[number, string, string]>(
    database,
    "UPDATE sessions SET used_at = max(used_at, ?) WHERE id = ? AND life = ?",
  );
  return (at, used) => used.filter(({ id, life }) => note.run(at, id, life) === 0).map(({ id }) => id);
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
      // An empty session has no wallet either: it goes at whichever time comes first.
      ended.push(...find(0, Math.max(emptyBefore, unboundBefore)));
      ended.push(...find(1, unboundBefore));
    };
    end(null);
    for (const { app } of otherApps.all()) end(app);
    for (const { key } of ended) remove(key);
    return ended.map(({ id, life }) => ({ id, life }));
  };
}
