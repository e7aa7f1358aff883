import { FILE_GRACE_MS } from "../core/file.ts";
import type { FileRows } from "../core/ports/driven/store.ts";
import { FILE, of } from "./columns.ts";
import { type FileRow, toFile } from "./rows.ts";
import { change, inList, look, ofSession, prepare, read, type SharedPort, timeOrNow } from "./shared.ts";

interface SessionOfFile {
  readonly session_app: string | null;
  readonly owned_by: string | null;
}
const byId = prepare<
  [string, string, number | null],
  SessionOfFile & (FileRow | { readonly [Column in keyof FileRow]: null })
>(
  (on) => `SELECT ${of("f", FILE)}, s.app AS session_app, s.owned_by
   FROM sessions s LEFT JOIN files f ON f.session_key = s.key AND f.id = $2
     AND (f.due_at IS NULL OR f.due_at > ${timeOrNow("$3", on)})
   WHERE s.id = $1`,
);
const ofApp = prepare<[string], { readonly bytes: number }>(
  (on) => `SELECT coalesce(sum(bytes), 0)${on.postgres("::bigint")} AS bytes FROM files WHERE app = $1`,
);
/** Sessions of the holder: those of an owner, or one without an owner. */
const ofHolder = prepare<[string, string], { readonly bytes: number }>(
  (on) => `SELECT coalesce(sum(f.bytes), 0)${on.postgres("::bigint")} AS bytes
   FROM (SELECT key FROM sessions WHERE owned_by = $2
     UNION ALL SELECT key FROM sessions WHERE id = $2 AND owned_by IS NULL) AS s
   JOIN files f ON f.session_key = s.key WHERE f.app = $1`,
);
/** The reservations up to the one of a blob. */
const reserved = prepare<
  [string],
  { readonly app: string; readonly holder: string; readonly of_app: number; readonly of_holder: number }
>(
  (on) => `SELECT own.app, own.holder, coalesce(sum(o.bytes), 0)${on.postgres("::bigint")} AS of_app,
     coalesce(sum(CASE WHEN o.holder = own.holder THEN o.bytes END), 0)${on.postgres("::bigint")} AS of_holder
   FROM unused_blobs own LEFT JOIN unused_blobs o ON o.app = own.app AND o.number <= own.number AND o.bytes > 0
   WHERE own.id = $1 AND own.app IS NOT NULL GROUP BY own.app, own.holder`,
);
const session = prepare<[string], { readonly owned_by: string | null; readonly message_count: number }>(
  "SELECT owned_by, message_count FROM sessions WHERE id = $1",
);
/** First key of the advisory locks that order the reservations of an App. */
const LOCKS = 20_483;
const subjectOfApp = (_at: unknown, { app }: { readonly app: string }): string => `files of ${app}`;
const subjectOfBlob = (_at: unknown, blob: string): string => `blob ${blob}`;
// Held until the commit, so that reservations with lower numbers are visible. A separate statement, as in rate-counters.ts.
const lockApp = prepare<[string]>(
  (on) => on.postgres(`SELECT pg_advisory_xact_lock(${LOCKS}, hashtext($1))`) + on.sqlite("SELECT $1"),
);
const expect = prepare<[string, number, string, string, number]>(
  `INSERT INTO unused_blobs (id, blob, due_at, app, holder, bytes, number) VALUES ($1, $1, $2, $3, $4, $5,
     (SELECT coalesce(max(number), 0) + 1 FROM unused_blobs WHERE app = $3 AND bytes > 0))
   ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes, number = excluded.number`,
);
// SKIP LOCKED: a command is about to share the bytes of the file.
const expire = prepare<[number, number]>(
  (on) => `DELETE FROM files WHERE (session_key, id) IN
     (SELECT session_key, id FROM files WHERE due_at <= $1 LIMIT $2 ${on.postgres("FOR UPDATE SKIP LOCKED")})`,
);
const unused = prepare<
  [number, number | null],
  { readonly id: string; readonly blob: string; readonly is_used: number }
>(
  (
    on,
  ) => `SELECT id, blob, CASE WHEN EXISTS (SELECT 1 FROM files f WHERE f.blob = u.blob) THEN 1 ELSE 0 END AS is_used
   FROM unused_blobs u WHERE due_at <= ${timeOrNow("$2", on)} LIMIT $1`,
);
const forget = prepare<[readonly string[]]>(
  (on) => `DELETE FROM unused_blobs WHERE id ${inList(on, "$1", "text")}`,
);

const postpone = prepare<[readonly string[], number]>(
  (on) => `UPDATE unused_blobs SET due_at = $2 WHERE id ${inList(on, "$1", "text")}`,
);

export const files: SharedPort<FileRows> = {
  find: look(
    (_at, sessionId: string) => ofSession(sessionId),
    function* (at, sessionId, fileId) {
      const row = yield* byId.get(sessionId, fileId, at);
      if (row === undefined) return null;
      const { session_app: app, owned_by: owner, ...columns } = row;
      return { session: { app, owner }, file: columns.id === null ? null : toFile(columns) };
    },
  ),
  expect: change(subjectOfApp, function* (at, { blob, app, sessionId, owner, bytes }, keptMs) {
    yield* lockApp.get(app);
    const { owned_by: owned = null, message_count: messages = 0 } = (yield* session.get(sessionId)) ?? {};
    // As `newOwnerOf`.
    const holder = owned ?? (messages === 0 ? owner : null) ?? sessionId;
    yield* expect.run(blob, at + keptMs, app, holder, bytes);
  }),
  used: read(subjectOfBlob, function* (_at, blob) {
    const own = yield* reserved.get(blob);
    if (own === undefined) throw new Error(`The blob ${blob} is not expected`);
    const { app, holder, of_app: ofAppReserved, of_holder: ofHolderReserved } = own;
    return {
      app: ((yield* ofApp.get(app))?.bytes ?? 0) + ofAppReserved,
      owner: ((yield* ofHolder.get(app, holder))?.bytes ?? 0) + ofHolderReserved,
    };
  }),
  expire: change("files", (at, limit) => expire.run(at - FILE_GRACE_MS, limit)),
  unused: look("files", function* (at, limit) {
    const rows = yield* unused.all(limit, at);
    return rows.map(({ id, blob, is_used }) => ({ id, blob, isUsed: is_used === 1 }));
  }),
  forget: change("files", function* (_at, ids) {
    yield* forget.run(ids);
  }),
  postpone: change("files", function* (at, ids, ms) {
    yield* postpone.run(ids, at + ms);
  }),
};
