import type { UserStore } from "../../core/ports/driven/store.ts";
import type { Synchronous } from "./calls.ts";
import type { Prepare } from "./database.ts";

export function prepareUsers(prepare: Prepare): Synchronous<UserStore> {
  const revoke = prepare<[string, number]>(
    "INSERT INTO revoked_tokens (id, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
  );
  const revoked = prepare<[string], { readonly found: number }>(
    "SELECT 1 AS found FROM revoked_tokens WHERE id = ?",
  );
  const forget = prepare<[number, number]>(
    "DELETE FROM revoked_tokens WHERE id IN (SELECT id FROM revoked_tokens WHERE expires_at < ? LIMIT ?)",
  );
  return {
    revokeToken: (_at, id, expiresAt) => revoke.run(id, expiresAt) > 0,
    isTokenRevoked: (_at, id) => revoked.get(id) !== undefined,
    forgetRevokedTokens: (at, limit) => forget.run(at, limit),
  };
}
