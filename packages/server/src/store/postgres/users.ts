import type { UserStore } from "../../core/ports/driven/store.ts";
import type { Calls } from "./calls.ts";
import { prepare } from "./statement.ts";

const revoke = prepare<[string, number]>(
  "INSERT INTO revoked_tokens (id, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
);
const revoked = prepare<[string], { readonly found: number }>(
  "SELECT 1 AS found FROM revoked_tokens WHERE id = $1",
);
const forget = prepare<[number, number]>(
  "DELETE FROM revoked_tokens WHERE id IN (SELECT id FROM revoked_tokens WHERE expires_at < $1 LIMIT $2)",
);

export function usersOf(calls: Calls): UserStore {
  return {
    revokeToken: (id, expiresAt) =>
      calls.alone("users", async (connection) => (await revoke.run(connection, id, expiresAt)) > 0),
    isTokenRevoked: (id) =>
      calls.look("users", async (connection) => (await revoked.get(connection, id)) !== undefined),
    forgetRevokedTokens: (limit) =>
      calls.alone("users", (connection, at) => forget.run(connection, at, limit)),
  };
}
