import type { SealedSecret, SecretStore } from "../../core/ports/driven/secret-store.ts";
import { type SecretRow, toSecret } from "../rows.ts";
import { prepareAuditWriter } from "./audit.ts";
import type { Synchronous } from "./calls.ts";
import type { Prepare } from "./database.ts";

export function prepareSecrets(prepare: Prepare): Synchronous<SecretStore> {
  const { keyInForce, bringInForce } = prepareKeyInForce(prepare);
  const audit = prepareAuditWriter(prepare);
  const write = prepare<[string, string, string, string, string]>(
    "INSERT OR REPLACE INTO secrets (app, client_id, name, key_id, sealed) VALUES (?, ?, ?, ?, ?)",
  );
  const ofClient = prepare<[string, string], SecretRow>(
    "SELECT * FROM secrets WHERE app = ? AND client_id = ? ORDER BY name",
  );
  const removeAll = prepare<[string, string]>("DELETE FROM secrets WHERE app = ? AND client_id = ?");
  const removeOne = prepare<[string, string, string]>(
    "DELETE FROM secrets WHERE app = ? AND client_id = ? AND name = ?",
  );
  const slots = prepare<[string], Pick<SealedSecret, "app" | "name">>(
    "SELECT app, name FROM secrets WHERE client_id = ? ORDER BY app, name",
  );
  const counts = prepare<[], { readonly key_id: string; readonly count: number }>(
    "SELECT key_id, count(*) AS count FROM secrets GROUP BY key_id ORDER BY key_id",
  );
  const byOthers = prepare<
    [string, string, string, string, number],
    SecretRow
  >(`SELECT * FROM secrets WHERE key_id <> ? AND (app, client_id, name) > (?, ?, ?)
     ORDER BY app, client_id, name LIMIT ?`);
  return {
    put: (at, secrets, entry = null) => {
      const inForce = keyInForce();
      if (secrets.some(({ keyId }) => keyId !== inForce)) return inForce;
      for (const { app, clientId, name, keyId, sealed } of secrets)
        write.run(app, clientId, name, keyId, sealed);
      if (entry !== null) audit(at, entry);
      return inForce;
    },
    of: (_at, app, clientId) => ofClient.all(app, clientId).map(toSecret),
    remove: (at, app, clientId, name, entry = null) => {
      const removed = name === null ? removeAll.run(app, clientId) : removeOne.run(app, clientId, name);
      if (removed > 0 && entry !== null) audit(at, entry);
      return removed;
    },
    ofClient: (_at, clientId) => slots.all(clientId),
    countByKey: () => Object.fromEntries(counts.all().map(({ key_id, count }) => [key_id, count])),
    keyInForce,
    bringInForce: (_at, keyId, before) => bringInForce(keyId, before),
    sealedByOthers: (_at, keyId, after, limit) =>
      // The empty name sorts before every App.
      byOthers.all(keyId, after?.app ?? "", after?.clientId ?? "", after?.name ?? "", limit).map(toSecret),
    replace: prepareReplace(prepare, keyInForce),
  };
}

function prepareKeyInForce(prepare: Prepare): {
  readonly keyInForce: () => string | null;
  readonly bringInForce: (keyId: string, before: string | null) => string;
} {
  const read = prepare<[], { readonly key_id: string }>("SELECT key_id FROM secret_key_in_force");
  const write = prepare<[string]>("INSERT OR REPLACE INTO secret_key_in_force (one, key_id) VALUES (1, ?)");
  const any = prepare<[], object>("SELECT 1 FROM secrets LIMIT 1");
  const keyInForce = (): string | null => read.get()?.key_id ?? null;
  return {
    keyInForce,
    bringInForce(keyId, before) {
      const inForce = keyInForce();
      if (inForce !== null && inForce !== before && any.get() !== undefined) return inForce;
      write.run(keyId);
      return keyId;
    },
  };
}

function prepareReplace(
  prepare: Prepare,
  keyInForce: () => string | null,
): Synchronous<SecretStore>["replace"] {
  const place = "app = ? AND client_id = ? AND name = ? AND key_id = ? AND sealed = ?";
  const change = prepare<[string, string, string, string, string, string, string]>(
    `UPDATE secrets SET key_id = ?, sealed = ? WHERE ${place}`,
  );
  const remove = prepare<[string, string, string, string, string]>(`DELETE FROM secrets WHERE ${place}`);
  return (_at, before, after) => {
    const { app, clientId, name, keyId, sealed } = before;
    if (after === null) return remove.run(app, clientId, name, keyId, sealed) === 1;
    if (after.keyId !== keyInForce()) return false;
    return change.run(after.keyId, after.sealed, app, clientId, name, keyId, sealed) === 1;
  };
}
