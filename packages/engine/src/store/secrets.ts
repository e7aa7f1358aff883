import type { SealedSecret, SecretStore } from "../core/ports/driven/secret-store.ts";
import { writeAudit } from "./audit.ts";
import { SECRET } from "./columns.ts";
import { type SecretRow, toSecret } from "./rows.ts";
import { change, look, prepare, type SharedPort, type Work } from "./shared.ts";

interface KeyInForceRow {
  readonly key_id: string;
}

const write = prepare<[string, string, string, string, string]>(
  `INSERT INTO secrets (${SECRET}) VALUES ($1, $2, $3, $4, $5)
   ON CONFLICT (app, client_id, name) DO UPDATE SET key_id = excluded.key_id, sealed = excluded.sealed`,
);
const ofClient = prepare<[string, string], SecretRow>(
  `SELECT ${SECRET} FROM secrets WHERE app = $1 AND client_id = $2 ORDER BY name`,
);
const remove = prepare<[string, string, string | null]>(
  "DELETE FROM secrets WHERE app = $1 AND client_id = $2 AND name = coalesce($3, name)",
);
const slots = prepare<[string], Pick<SealedSecret, "app" | "name">>(
  "SELECT app, name FROM secrets WHERE client_id = $1 ORDER BY app, name",
);
const counts = prepare<[], { readonly key_id: string; readonly count: number }>(
  "SELECT key_id, count(*) AS count FROM secrets GROUP BY key_id ORDER BY key_id",
);
const byOthers = prepare<[string, string, string, string, number], SecretRow>(
  `SELECT ${SECRET} FROM secrets WHERE key_id <> $1 AND (app, client_id, name) > ($2, $3, $4)
   ORDER BY app, client_id, name LIMIT $5`,
);
const isAny = prepare<[], object>("SELECT 1 FROM secrets LIMIT 1");
const PLACE = "app = $1 AND client_id = $2 AND name = $3 AND key_id = $4 AND sealed = $5";
const reseal = prepare<[string, string, string, string, string, string, string]>(
  `UPDATE secrets SET key_id = $6, sealed = $7 WHERE ${PLACE}`,
);
const discard = prepare<[string, string, string, string, string]>(`DELETE FROM secrets WHERE ${PLACE}`);

const inForce = prepare<[], KeyInForceRow>("SELECT key_id FROM secret_key_in_force");
// On PostgreSQL a write under this key holds the lock until its commit, so that a rotation waits for it and
// sees it. SQLite has one writer.
const holdInForce = prepare<[], KeyInForceRow>(
  (on) => `SELECT key_id FROM secret_key_in_force ${on.postgres("FOR SHARE")}`,
);
const lockInForce = prepare<[], KeyInForceRow>(
  (on) => `SELECT key_id FROM secret_key_in_force ${on.postgres("FOR UPDATE")}`,
);
// Also excludes the first key of another node, when there is no row to lock.
const lockTable = prepare<[]>(
  (on) => on.postgres("LOCK TABLE secret_key_in_force IN SHARE ROW EXCLUSIVE MODE") + on.sqlite("SELECT 1"),
);
const putInForce = prepare<[string]>(
  `INSERT INTO secret_key_in_force (one, key_id) VALUES (1, $1)
   ON CONFLICT (one) DO UPDATE SET key_id = excluded.key_id`,
);

export const secrets: SharedPort<SecretStore> = {
  put: change("secrets", function* (at, secrets, entry = null) {
    const active = (yield* holdInForce.get())?.key_id ?? null;
    if (secrets.some(({ keyId }) => keyId !== active)) return active;
    for (const { app, clientId, name, keyId, sealed } of secrets)
      yield* write.run(app, clientId, name, keyId, sealed);
    yield* writeAudit(at, entry);
    return active;
  }),
  of: look("secrets", function* (_at, app, clientId) {
    return (yield* ofClient.all(app, clientId)).map(toSecret);
  }),
  remove: change("secrets", function* (at, app, clientId, name, entry = null) {
    const removed = yield* remove.run(app, clientId, name);
    if (removed > 0) yield* writeAudit(at, entry);
    return removed;
  }),
  ofClient: look("secrets", (_at, clientId) => slots.all(clientId)),
  countByKey: look("secrets", () => countByKey()),
  keyInForce: look("secrets", function* () {
    return (yield* inForce.get())?.key_id ?? null;
  }),
  bringInForce: change("secrets", function* (_at, keyId, before) {
    yield* lockTable.run();
    const active = (yield* lockInForce.get())?.key_id ?? null;
    if (active !== null && active !== before && (yield* isAny.get()) !== undefined) return active;
    yield* putInForce.run(keyId);
    return keyId;
  }),
  sealedByOthers: look("secrets", function* (_at, keyId, after, limit) {
    // The empty name sorts before every App.
    const { app = "", clientId = "", name = "" } = after ?? {};
    return (yield* byOthers.all(keyId, app, clientId, name, limit)).map(toSecret);
  }),
  replace: change("secrets", function* (_at, before, after) {
    const { app, clientId, name, keyId, sealed } = before;
    if (after === null) return (yield* discard.run(app, clientId, name, keyId, sealed)) === 1;
    if (after.keyId !== (yield* holdInForce.get())?.key_id) return false;
    return (yield* reseal.run(app, clientId, name, keyId, sealed, after.keyId, after.sealed)) === 1;
  }),
};

/** Returns the number of secrets by the id of their master key. */
export function* countByKey(): Work<Readonly<Record<string, number>>> {
  return Object.fromEntries((yield* counts.all()).map(({ key_id, count }) => [key_id, count]));
}
