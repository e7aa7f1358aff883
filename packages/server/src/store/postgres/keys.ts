import type { AppKeyRecord, KeyStore } from "../../core/ports/driven/store.ts";
import { writeAudit } from "./audit.ts";
import type { Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import { type KeyRow, toKey } from "../rows.ts";
import { prepare } from "./statement.ts";
import { APP_KEY } from "../columns.ts";

const insert = prepare<[string, string | null, string, string, number, number | null, number | null, string]>(
  `INSERT INTO app_keys (${APP_KEY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
const byId = prepare<[string], KeyRow>(`SELECT ${APP_KEY} FROM app_keys WHERE id = $1`);
const all = prepare<[], KeyRow>(`SELECT ${APP_KEY} FROM app_keys ORDER BY created_at, id`);
const revoke = prepare<[number, string]>(
  "UPDATE app_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL",
);
const endEarlier = prepare<[number, string, number]>(
  `UPDATE app_keys SET expires_at = least(expires_at, $1)
   WHERE id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)`,
);

export function keysOf(calls: Calls): KeyStore {
  return {
    add: (key, entry = null) =>
      calls.alone("keys", async (connection, at) => {
        await add(connection, key);
        await writeAudit(connection, at, entry);
      }),
    find: (id) => calls.look("keys", (connection) => find(connection, id)),
    list: () => calls.look("keys", async (connection) => (await all.all(connection)).map(toKey)),
    revoke: (id, entry = null) =>
      calls.alone("keys", async (connection, at) => {
        if ((await revoke.run(connection, at, id)) > 0) await writeAudit(connection, at, entry);
        return await find(connection, id);
      }),
    rotate: (id, next, overlapMs, entry = null) =>
      calls.alone("keys", async (connection, at) => {
        if ((await endEarlier.run(connection, at + overlapMs, id, at)) === 0) return null;
        await add(connection, next);
        await writeAudit(connection, at, entry);
        return await find(connection, id);
      }),
  };
}

async function find(connection: Connection, id: string): Promise<AppKeyRecord | null> {
  const row = await byId.get(connection, id);
  return row === undefined ? null : toKey(row);
}

async function add(connection: Connection, key: AppKeyRecord): Promise<void> {
  const { id, name, apps, scopes, digest, createdAt, expiresAt, revokedAt } = key;
  const texts = { apps: JSON.stringify(apps), scopes: JSON.stringify(scopes) };
  await insert.run(connection, id, name, texts.apps, digest, createdAt, expiresAt, revokedAt, texts.scopes);
}
