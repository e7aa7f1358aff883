// Reads of sessions for cleanup and for administration, written once for both databases.

import type { CopySize, SessionStore } from "../core/ports/driven/session-store.ts";
import { hiddenFrom } from "../core/session-access.ts";
import { appOf, DEFAULT_APP, type SessionRecord } from "../core/session.ts";
import { SESSION } from "./columns.ts";
import { MESSAGE_BYTES } from "./pages.ts";
import { type SessionRow, toSession } from "./rows.ts";
import { type On, prepare, type Work } from "./shared.ts";

type Expiry = Parameters<SessionStore["expire"]>[0];

interface IncarnationRow {
  readonly key: number;
  readonly id: string;
  readonly incarnation: string;
}

/**
 * The Apps of sessions without a wallet and owner, as a recursive table: one index lookup per App, however
 * many sessions it has.
 */
export const LOOSE_APPS = `loose (app) AS (
    SELECT (SELECT app FROM sessions WHERE retention < 2 AND app <> 'default' ORDER BY app LIMIT 1)
    UNION ALL
    SELECT (SELECT s.app FROM sessions s WHERE s.retention < 2 AND s.app <> 'default' AND s.app > loose.app ORDER BY s.app LIMIT 1)
    FROM loose WHERE loose.app IS NOT NULL
  )`;
const otherApps = prepare<[], { readonly app: string }>(
  `WITH RECURSIVE ${LOOSE_APPS} SELECT app FROM loose WHERE app IS NOT NULL`,
);
/** SKIP LOCKED: a locked session is in use. */
const unused = (on: On, index: string, which: string) =>
  `SELECT key, id, life AS incarnation FROM sessions ${on.sqlite(`INDEXED BY ${index}`)}
   WHERE ${which} AND used_at < $2 AND status <> 'processing' ORDER BY used_at, key LIMIT $3
   ${on.postgres("FOR UPDATE SKIP LOCKED")}`;
/** An empty session stays while it has an upload that a message may still use. */
const LOOSE =
  "retention < 2 AND retention = $1 AND (retention > 0 OR NOT EXISTS (SELECT 1 FROM files f WHERE f.session_key = sessions.key))";
const ofDefault = prepare<[number, number, number], IncarnationRow>((on) =>
  unused(on, "sessions_by_use", `${LOOSE} AND coalesce(app, 'default') = 'default'`),
);
const ofApp = prepare<[number, number, number, string], IncarnationRow>((on) =>
  unused(on, "sessions_by_app_and_use", `${LOOSE} AND app <> 'default' AND app = $4`),
);
const bound = prepare<[string, number, number], IncarnationRow>((on) =>
  unused(on, "sessions_bound_by_use", "retention = 2 AND coalesce(app, 'default') = $1"),
);

/** Returns the sessions that `SessionStore.expire` removes. */
export function* expiredSessions(input: Expiry): Work<readonly IncarnationRow[]> {
  const ended: IncarnationRow[] = [];
  const others = (yield* otherApps.all()).map(({ app }) => app);
  for (const { app, retention, before } of expiries(input, others)) {
    const left = input.limit - ended.length;
    const found =
      app === null ? ofDefault.all(retention, before, left) : ofApp.all(retention, before, left, app);
    ended.push(...(yield* found));
  }
  for (const { app, before } of boundExpiries(input))
    ended.push(...(yield* bound.all(app, before, input.limit - ended.length)));
  return ended;
}

/** Yields the Apps whose sessions with a wallet or an owner expire. */
function* boundExpiries({
  boundBefore = null,
  byApp = {},
}: Expiry): Generator<{ readonly app: string; readonly before: number }> {
  const times = Object.entries(byApp).map(([app, { boundBefore = null }]) => ({ app, before: boundBefore }));
  for (const { app, before } of [{ app: DEFAULT_APP, before: boundBefore }, ...times])
    if (before !== null) yield { app, before };
}

/** Yields the conditions for expired sessions, in the order of removal: the default App (`null`), then the others. */
function* expiries(
  { byApp = {}, ...others }: Expiry,
  otherApps: readonly string[],
): Generator<{ readonly app: string | null; readonly retention: 0 | 1; readonly before: number }> {
  const times = new Map(Object.entries(byApp));
  for (const app of [null, ...otherApps]) {
    const { emptyBefore, unboundBefore } = (app === null ? null : times.get(app)) ?? others;
    // An empty session is removed at the earlier of the two times, with a wallet or without.
    yield { app, retention: 0, before: Math.max(emptyBefore, unboundBefore) };
    yield { app, retention: 1, before: unboundBefore };
  }
}

const heldBy = (column: "owned_by" | "public_key") =>
  prepare<[value: string | null, app: string | null, after: number, limit: number], SessionRow>(
    `SELECT ${SESSION} FROM sessions
     WHERE ${column} = $1 AND ($2::text IS NULL OR coalesce(app, 'default') = $2) AND key > $3 ORDER BY key LIMIT $4`,
  );
const ofOwner = heldBy("owned_by");
const ofWallet = heldBy("public_key");

/** As `SessionStore.heldBy`. */
export function* sessionsHeldBy(
  { owner, publicKey, app }: Parameters<SessionStore["heldBy"]>[0],
  after: number,
  limit: number,
): Work<readonly SessionRecord[]> {
  return (yield* (owner === null ? ofWallet : ofOwner).all(owner ?? publicKey, app, after, limit)).map(
    toSession,
  );
}

const byId = prepare<[string], SessionRow>(`SELECT ${SESSION} FROM sessions WHERE id = $1`);
/** Bytes of a row's numbers, ids and times. */
const ROW = 256;
const turnsThrough = prepare<[number, string | null], { readonly last: number; readonly bytes: number }>(
  `SELECT coalesce(max(number), 0) AS last, ${ROW} * count(*) + coalesce(sum(octet_length(usage)), 0) AS bytes
   FROM turns WHERE session_key = $1 AND ended_at IS NOT NULL
     AND ($2::text IS NULL OR number <= (SELECT turn FROM messages WHERE session_key = $1 AND id = $2))`,
);
interface Bytes {
  readonly bytes: number;
}
const messagesThrough = prepare<[number, number], Bytes>(
  `SELECT ${ROW} * count(*) + coalesce(sum(${MESSAGE_BYTES}), 0) AS bytes FROM messages WHERE session_key = $1 AND turn <= $2`,
);
const stepsThrough = prepare<[number, number], Bytes>(
  `SELECT ${ROW} * count(*) + coalesce(sum(octet_length(usage) + octet_length(text) + octet_length(parts)), 0) AS bytes
   FROM steps WHERE session_key = $1 AND turn <= $2`,
);

/** As `SessionStore.copySize`. */
export function* sizeOfCopy(
  id: string,
  through: string | null,
  access: Parameters<SessionStore["copySize"]>[2],
): Work<CopySize | null> {
  const row = yield* byId.get(id);
  if (row === undefined) return null;
  const session = toSession(row);
  if (hiddenFrom(session, access) !== null) return null;
  const { last = 0, bytes: ofTurns = 0 } = (yield* turnsThrough.get(session.key, through)) ?? {};
  const { bytes: ofMessages = 0 } = (yield* messagesThrough.get(session.key, last)) ?? {};
  const { bytes: ofSteps = 0 } = (yield* stepsThrough.get(session.key, last)) ?? {};
  return { app: appOf(session), lastTurn: last, bytes: ofTurns + ofMessages + ofSteps };
}
