import { expect, it } from "vitest";
import { toKey } from "./rows.ts";

it("gives all scopes to a key that the previous version stored", () => {
  const row = {
    id: "a",
    name: null,
    apps: '["defi"]',
    digest: "d",
    created_at: 1,
    expires_at: null,
    revoked_at: null,
  };
  expect(toKey({ ...row, scopes: null }).scopes).toEqual(["chat", "read", "secrets"]);
  expect(toKey({ ...row, scopes: '["read"]' }).scopes).toEqual(["read"]);
});
