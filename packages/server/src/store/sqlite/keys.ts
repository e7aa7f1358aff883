import type { AppKeyRecord, KeyStore } from "../../core/ports/driven/store.ts";
import { prepareAuditWriter } from "./audit.ts";
import type { Synchronous } from "./calls.ts";
import { type KeyRow, toKey } from "../rows.ts";
import { APP_KEY } from "../columns.ts";
import type { Prepare } from "./database.ts";

export function prepareKeys(prepare: Prepare): Synchronous<KeyStore> {
  const audit = prepareAuditWriter(prepare);
  const insert = prepare<
    [string, string | null, string, string, number, number | null, number | null, string]
  >(`INSERT INTO app_keys (${APP_KEY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const byId = prepare<[string], KeyRow>("SELECT * FROM app_keys WHERE id = ?");
  const all = prepare<[], KeyRow>("SELECT * FROM app_keys ORDER BY created_at, id");
  const revoke = prepare<[number, string]>(
    "UPDATE app_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
  );
  const endEarlier = prepare<
    [number, string, number]
  >(`UPDATE app_keys SET expires_at = min(coalesce(expires_at, ?1), ?1)
     WHERE id = ?2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)`);
  const find = (id: string): AppKeyRecord | null => {
    const row = byId.get(id);
    return row === undefined ? null : toKey(row);
  };
  const add = (key: AppKeyRecord): void => {
    const { id, name, apps, scopes, digest, createdAt, expiresAt, revokedAt } = key;
    insert.run(
      id,
      name,
      JSON.stringify(apps),
      digest,
      createdAt,
      expiresAt,
      revokedAt,
      JSON.stringify(scopes),
    );
  };
  return {
    add: (at, key, entry = null) => {
      add(key);
      if (entry !== null) audit(at, entry);
    },
    find: (_at, id) => find(id),
    list: () => all.all().map(toKey),
    revoke: (at, id, entry = null) => {
      if (revoke.run(at, id) > 0 && entry !== null) audit(at, entry);
      return find(id);
    },
    rotate: (at, id, next, overlapMs, entry = null) => {
      if (endEarlier.run(at + overlapMs, id, at) === 0) return null;
      add(next);
      if (entry !== null) audit(at, entry);
      return find(id);
    },
  };
}
