import { expect, it } from "vitest";
import type { KeyGrant } from "@colloquy/engine/internal/core/ports/driving/credentials";
import type { SessionOwnership, StreamEnd } from "@colloquy/engine/internal/core/ports/driving/services";
import { streamOf } from "../testing/caller-of.ts";
import type { RequestUser } from "./credentials.ts";

it("returns when the key that acts for the user was checked, even in the default App", async () => {
  const grant: KeyGrant = {
    keyId: "1",
    name: null,
    apps: new Set(["default"]),
    scopes: new Set(["read", "act_as"]),
    checkedAt: 7,
  };
  const stream = await streamOf({ grant, owner: "https://login.test alice" });
  expect(stream.checkedAt({ app: "default", owner: "alice" })).toBe(7);
});

const alice = (...apps: readonly string[]): RequestUser => ({
  owner: "alice",
  apps,
  opens: apps,
  wallets: [],
  checkedAt: 0,
});

it.each<[string, RequestUser | null, SessionOwnership, boolean, StreamEnd | null]>([
  ["stays open for anybody without an owner", null, { app: "shop", owner: null }, false, null],
  ["ends for others", null, { app: "shop", owner: "alice" }, false, "session_not_found"],
  [
    "ends without a user where one is required",
    null,
    { app: "shop", owner: null },
    true,
    "session_not_found",
  ],
  ["stays open for a user where one is required", alice("shop"), { app: "shop", owner: null }, true, null],
  ["stays open for the owner", alice("shop"), { app: "shop", owner: "alice" }, false, null],
  [
    "ends in another App than the token's",
    alice("games"),
    { app: "shop", owner: "alice" },
    false,
    "session_not_found",
  ],
  [
    "stays open before the session has an App",
    alice("games"),
    { app: "default", owner: "alice" },
    false,
    null,
  ],
])("%s", async (_what, user, session, required, end) => {
  const stream = await streamOf({ user, app: { requireKey: "chat", users: { required } } });
  expect(stream.endFor(session)).toBe(end);
});
