// Rows of App keys and secrets, which have the same types in all adapters.

import { APP_SCOPES } from "../core/key-scopes.ts";
import type { AppKeyRecord } from "../core/ports/driven/key-store.ts";
import type { SealedSecret } from "../core/ports/driven/secret-store.ts";

export interface KeyRow {
  readonly id: string;
  readonly name: string | null;
  readonly apps: string;
  readonly digest: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly scopes: string | null;
}

export function toKey(row: KeyRow): AppKeyRecord {
  return {
    id: row.id,
    name: row.name,
    apps: JSON.parse(row.apps) as AppKeyRecord["apps"],
    scopes: row.scopes === null ? APP_SCOPES : (JSON.parse(row.scopes) as AppKeyRecord["scopes"]),
    digest: row.digest,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

export interface SecretRow {
  readonly app: string;
  readonly client_id: string;
  readonly name: string;
  readonly key_id: string;
  readonly sealed: string;
}

export function toSecret({ app, client_id, name, key_id, sealed }: SecretRow): SealedSecret {
  return { app, clientId: client_id, name, keyId: key_id, sealed };
}
