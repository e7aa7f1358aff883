import { expect, it } from "vitest";
import type { KeyGrant } from "../core/ports/driving/key-service.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { CheckedStream } from "./stream-access.ts";
import { UserAccess } from "./user-access.ts";

it("knows when the key that acts for the user was checked, in the default App too", () => {
  const apps = { names: () => [], get: () => null };
  const users = { ownerOf: () => "alice" } as never;
  const grant: KeyGrant = {
    keyId: "1",
    name: null,
    apps: new Set(["default"]),
    scopes: new Set(["read", "act_as"]),
    askedAt: 7,
  };
  const user = new UserAccess({ users, apps }).ofKey("https://login.test alice", grant);
  const stream = new CheckedStream({
    session: ANONYMOUS,
    apps,
    hasKey: true,
    credentials: { grant, user },
    check: null,
  });
  expect(stream.askedAt({ app: "default", owner: "alice" })).toBe(7);
});
