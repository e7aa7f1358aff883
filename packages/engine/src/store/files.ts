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
const session = prepare<[string], { readonly key: number; readonly owned_by: string | null }>(
  "SELECT key, owned_by FROM sessions WHERE id = $1",
);
const ofOwner = prepare<[string, string], { readonly bytes: number }>(
  (on) => `SELECT coalesce(sum(f.bytes), 0)${on.postgres("::bigint")} AS bytes
   FROM sessions s JOIN files f ON f.session_key = s.key WHERE s.owned_by = $2 AND f.app = $1`,
);
const ofKey = prepare<[string, number], { readonly bytes: number }>(
  (on) => `SELECT coalesce(sum(bytes), 0)${on.postgres("::bigint")} AS bytes
   FROM files WHERE session_key = $2 AND app = $1`,
);
const expect = prepare<[string, number]>(
  "INSERT INTO unused_blobs (id, blob, due_at) VALUES ($1, $1, $2) ON CONFLICT DO NOTHING",
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
  used: read("files", function* (_at, app, sessionId) {
    const owner = yield* session.get(sessionId);
    const own =
      owner === undefined
        ? undefined
        : owner.owned_by === null
          ? yield* ofKey.get(app, owner.key)
          : yield* ofOwner.get(app, owner.owned_by);
    return { app: (yield* ofApp.get(app))?.bytes ?? 0, owner: own?.bytes ?? 0 };
  }),
  expect: change("files", function* (at, blob, keptMs) {
    yield* expect.run(blob, at + keptMs);
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
