import type { SealedSecret, SecretStore } from "../../core/ports/driven/secret-store.ts";
import { type SecretRow, toSecret } from "../rows.ts";
import { writeAudit } from "./audit.ts";
import { prepareInsert } from "./bulk.ts";
import type { Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import { prepare } from "./statement.ts";
import { SECRET } from "../columns.ts";

interface KeyInForceRow {
  readonly key_id: string;
}

const write = prepareInsert(
  "secrets",
  { app: "text", client_id: "text", name: "text", key_id: "text", sealed: "text" },
  "(app, client_id, name) DO UPDATE SET key_id = excluded.key_id, sealed = excluded.sealed",
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
const inForce = prepare<[], KeyInForceRow>("SELECT key_id FROM secret_key_in_force");
// The lock is held until the commit of a write under this key, so that a rotation waits and then sees the
// write.
const holdInForce = prepare<[], KeyInForceRow>("SELECT key_id FROM secret_key_in_force FOR SHARE");
const beAloneWithForce = prepare<[]>("LOCK TABLE secret_key_in_force IN SHARE ROW EXCLUSIVE MODE");
const lockInForce = prepare<[], KeyInForceRow>("SELECT key_id FROM secret_key_in_force FOR UPDATE");
const isAny = prepare<[], object>("SELECT 1 FROM secrets LIMIT 1");
const putInForce = prepare<[string]>(
  `INSERT INTO secret_key_in_force (one, key_id) VALUES (1, $1)
   ON CONFLICT (one) DO UPDATE SET key_id = excluded.key_id`,
);
const PLACE = "app = $1 AND client_id = $2 AND name = $3 AND key_id = $4 AND sealed = $5";
const change = prepare<[string, string, string, string, string, string, string]>(
  `UPDATE secrets SET key_id = $6, sealed = $7 WHERE ${PLACE}`,
);
const letGo = prepare<[string, string, string, string, string]>(`DELETE FROM secrets WHERE ${PLACE}`);

export function secretsOf(calls: Calls): SecretStore {
  const alone = <Answer>(work: (connection: Connection, at: number) => Promise<Answer>) =>
    calls.alone("secrets", work);
  const read = <Answer>(work: (connection: Connection) => Promise<Answer>) => calls.look("secrets", work);
  return {
    put: (secrets, entry = null) =>
      alone(async (connection, at) => {
        const keyId = (await holdInForce.get(connection))?.key_id ?? null;
        if (secrets.some((secret) => secret.keyId !== keyId)) return keyId;
        await writeAll(connection, secrets);
        await writeAudit(connection, at, entry);
        return keyId;
      }),
    of: (app, clientId) =>
      read(async (connection) => (await ofClient.all(connection, app, clientId)).map(toSecret)),
    remove: (app, clientId, name, entry = null) =>
      alone(async (connection, at) => {
        const removed = await remove.run(connection, app, clientId, name);
        if (removed > 0) await writeAudit(connection, at, entry);
        return removed;
      }),
    ofClient: (clientId) => read((connection) => slots.all(connection, clientId)),
    countByKey: () =>
      read(async (connection) => {
        const rows = await counts.all(connection);
        return Object.fromEntries(rows.map(({ key_id, count }) => [key_id, count]));
      }),
    keyInForce: () => read(async (connection) => (await inForce.get(connection))?.key_id ?? null),
    bringInForce: (keyId, before) => alone((connection) => bringInForce(connection, keyId, before)),
    sealedByOthers: (keyId, after, limit) =>
      read(async (connection) => {
        // The empty name sorts before every App.
        const { app = "", clientId = "", name = "" } = after ?? {};
        return (await byOthers.all(connection, keyId, app, clientId, name, limit)).map(toSecret);
      }),
    replace: (before, after) => alone((connection) => replace(connection, before, after)),
  };
}

async function writeAll(connection: Connection, secrets: readonly SealedSecret[]): Promise<void> {
  // The last secret of a slot wins; one statement can write a row only once.
  const slots = new Map(
    secrets.map((secret) => [JSON.stringify([secret.app, secret.clientId, secret.name]), secret]),
  );
  const rows = Array.from(slots.values(), ({ app, clientId, name, keyId, sealed }) => [
    app,
    clientId,
    name,
    keyId,
    sealed,
  ]);
  await write(rows)(connection);
}

async function bringInForce(connection: Connection, keyId: string, before: string | null): Promise<string> {
  await beAloneWithForce.run(connection);
  const found = (await lockInForce.get(connection))?.key_id ?? null;
  if (found !== null && found !== before && (await isAny.get(connection)) !== undefined) return found;
  await putInForce.run(connection, keyId);
  return keyId;
}

async function replace(
  connection: Connection,
  before: SealedSecret,
  after: SealedSecret | null,
): Promise<boolean> {
  const { app, clientId, name, keyId, sealed } = before;
  if (after === null) return (await letGo.run(connection, app, clientId, name, keyId, sealed)) === 1;
  if (after.keyId !== (await holdInForce.get(connection))?.key_id) return false;
  const { keyId: nextKeyId, sealed: nextSealed } = after;
  return (await change.run(connection, app, clientId, name, keyId, sealed, nextKeyId, nextSealed)) === 1;
}
