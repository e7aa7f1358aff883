import type { SessionStore } from "../../core/ports/driven/session-store.ts";
import type { Connection } from "./connections.ts";
import { removeSessions } from "./removal.ts";
import { prepare } from "./statement.ts";

interface LifeRow {
  readonly key: number;
  readonly id: string;
  readonly life: string;
}

// A session that somebody holds is in use: it is passed over.
const PORTION = "AND status <> 'processing' ORDER BY used_at, key LIMIT $3 FOR UPDATE SKIP LOCKED";
const ofDefault = prepare<[number, number, number], LifeRow>(
  `SELECT key, id, life FROM sessions
   WHERE retention < 2 AND coalesce(app, 'default') = 'default' AND retention = $1 AND used_at < $2 ${PORTION}`,
);
const ofApp = prepare<[number, number, number, string], LifeRow>(
  `SELECT key, id, life FROM sessions
   WHERE retention < 2 AND app <> 'default' AND app = $4 AND retention = $1 AND used_at < $2 ${PORTION}`,
);
// One look into the index for each App, however many sessions it has.
const otherApps = prepare<[], { readonly app: string }>(
  `WITH RECURSIVE apps (app) AS (
     (SELECT app FROM sessions WHERE retention < 2 AND app <> 'default' ORDER BY app LIMIT 1)
     UNION ALL
     SELECT (SELECT s.app FROM sessions AS s WHERE s.retention < 2 AND s.app <> 'default' AND s.app > apps.app
             ORDER BY s.app LIMIT 1)
     FROM apps WHERE apps.app IS NOT NULL
   )
   SELECT app FROM apps WHERE app IS NOT NULL`,
);

/** Removes sessions that were not used for long, as `SessionStore.expire` says. */
export async function expireSessions(
  connection: Connection,
  { byApp = {}, limit, ...others }: Parameters<SessionStore["expire"]>[0],
): Promise<Awaited<ReturnType<SessionStore["expire"]>>> {
  const times = new Map(Object.entries(byApp));
  const ended: LifeRow[] = [];
  const end = async (app: string | null): Promise<void> => {
    const { emptyBefore, unboundBefore } = (app === null ? null : times.get(app)) ?? others;
    const find = (retention: number, before: number): Promise<LifeRow[]> => {
      const left = limit - ended.length;
      return app === null
        ? ofDefault.all(connection, retention, before, left)
        : ofApp.all(connection, retention, before, left, app);
    };
    // An empty session goes at whichever time comes first, with a wallet or without.
    ended.push(...(await find(0, Math.max(emptyBefore, unboundBefore))));
    ended.push(...(await find(1, unboundBefore)));
  };
  await end(null);
  for (const { app } of await otherApps.all(connection)) await end(app);
  await removeSessions(
    connection,
    ended.map(({ key }) => key),
  );
  return ended.map(({ id, life }) => ({ id, life }));
}
