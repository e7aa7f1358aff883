import { expect, it } from "vitest";
import type { KeyGrant } from "../core/ports/driving/credentials.ts";
import type { SessionOwnership, StreamEnd } from "../core/ports/driving/services.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { CheckedStream } from "./stream-access.ts";
import { type RequestUser, UserAccess } from "./user-access.ts";

it("returns when the key that acts for the user was checked, even in the default App", () => {
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

/** Returns why a stream with this user ends in a session of an App that needs no key for streams. */
function endOf(user: RequestUser | null, session: SessionOwnership, required: boolean) {
  const get = () => ({ requireKey: "chat", users: { required } }) as never;
  const stream = new CheckedStream({
    session: ANONYMOUS,
    apps: { names: () => [], get },
    hasKey: false,
    credentials: { grant: null, user },
    check: null,
  });
  return stream.endFor(session);
}

const alice = (...apps: readonly string[]): RequestUser => ({
  owner: "alice",
  apps,
  opens: apps,
  wallets: [],
  askedAt: 0,
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
])("%s", (_what, user, session, required, end) => {
  expect(endOf(user, session, required)).toBe(end);
});
