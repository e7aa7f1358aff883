import type { AppKeyRecord, KeyStore } from "../core/ports/driven/store.ts";
import { writeAudit } from "./audit.ts";
import { APP_KEY } from "./columns.ts";
import { type KeyRow, toKey } from "./rows.ts";
import { change, look, prepare, type SharedPort, type Work } from "./shared.ts";

const insert = prepare<[string, string | null, string, string, number, number | null, number | null, string]>(
  `INSERT INTO app_keys (${APP_KEY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
const byId = prepare<[string], KeyRow>(`SELECT ${APP_KEY} FROM app_keys WHERE id = $1`);
const all = prepare<[], KeyRow>(`SELECT ${APP_KEY} FROM app_keys ORDER BY created_at, id`);
const revoke = prepare<[number, string]>(
  "UPDATE app_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL",
);
const endEarlier = prepare<[number, string, number]>(
  `UPDATE app_keys SET expires_at = CASE WHEN expires_at < $1 THEN expires_at ELSE $1 END
   WHERE id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)`,
);

export const keys: SharedPort<KeyStore> = {
  add: change("keys", function* (at, key, entry = null) {
    yield* add(key);
    yield* writeAudit(at, entry);
  }),
  find: look("keys", (_at, id) => find(id)),
  list: look("keys", function* () {
    return (yield* all.all()).map(toKey);
  }),
  revoke: change("keys", function* (at, id, entry = null) {
    if ((yield* revoke.run(at, id)) > 0) yield* writeAudit(at, entry);
    return yield* find(id);
  }),
  rotate: change("keys", function* (at, id, next, overlapMs, entry = null) {
    if ((yield* endEarlier.run(at + overlapMs, id, at)) === 0) return null;
    yield* add(next);
    yield* writeAudit(at, entry);
    return yield* find(id);
  }),
};

function* find(id: string): Work<AppKeyRecord | null> {
  const row = yield* byId.get(id);
  return row === undefined ? null : toKey(row);
}

function add({
  id,
  name,
  apps,
  scopes,
  digest,
  createdAt,
  expiresAt,
  revokedAt,
}: AppKeyRecord): Work<number> {
  const texts = { apps: JSON.stringify(apps), scopes: JSON.stringify(scopes) };
  return insert.run(id, name, texts.apps, digest, createdAt, expiresAt, revokedAt, texts.scopes);
}
