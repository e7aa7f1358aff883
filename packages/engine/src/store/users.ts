import type { UserStore } from "../core/ports/driven/store.ts";
import { change, look, prepare, type SharedPort } from "./shared.ts";

const revoke = prepare<[string, number]>(
  "INSERT INTO revoked_tokens (id, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
);
const revoked = prepare<[string], { readonly found: number }>(
  "SELECT 1 AS found FROM revoked_tokens WHERE id = $1",
);
const forget = prepare<[number, number]>(
  "DELETE FROM revoked_tokens WHERE id IN (SELECT id FROM revoked_tokens WHERE expires_at < $1 LIMIT $2)",
);

export const users: SharedPort<UserStore> = {
  revokeToken: change("users", function* (_at, id, expiresAt) {
    return (yield* revoke.run(id, expiresAt)) > 0;
  }),
  isTokenRevoked: look("users", function* (_at, id) {
    return (yield* revoked.get(id)) !== undefined;
  }),
  forgetRevokedTokens: change("users", (at, limit) => forget.run(at, limit)),
};
