import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import type { Store } from "../../core/ports/driven/store.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";
import { CheckedKeys, MAX_AGE_MS } from "./checked-keys.ts";
import { KeyAdministration } from "./key-administration.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const APPS = ["default", "defi", "games"];

let clock: ManualClock;
let store: Store;
let administration: KeyAdministration;
let keys: CheckedKeys;

beforeEach(async () => {
  clock = new ManualClock();
  const onFatal = (error: Error): never => {
    throw error;
  };
  store = await openSqliteStore({ directory: null, clock, onFatal });
  administration = new KeyAdministration({ store: store.keys, clock, apps: () => APPS });
  keys = new CheckedKeys({
    store: store.keys,
    clock,
    apps: { get: (name) => (APPS.includes(name) ? ({ name } as never) : null) },
  });
});
afterEach(() => store.close());

const create = (more: Partial<Parameters<KeyAdministration["create"]>[0]> = {}) =>
  administration.create({ apps: ["defi"], scopes: [], name: null, expiresInMs: null, ...more });

describe("creating a key", () => {
  it("returns a valid key, whose secret is not stored or listed", async () => {
    const issued = await create({ apps: ["defi", "games", "defi"], name: "web" });
    expect(issued).toMatchObject({ name: "web", apps: ["defi", "games"], expiresAt: null, status: "good" });
    expect(await keys.check(issued.key)).toMatchObject({
      keyId: issued.id,
      apps: new Set(["defi", "games"]),
    });
    const secret = issued.key.slice(issued.key.lastIndexOf("_") + 1);
    const { key: _key, ...listed } = issued;
    expect(await administration.list()).toEqual([listed]);
    expect(JSON.stringify(await store.keys.list())).not.toContain(secret.slice(0, 10));
    expect(JSON.stringify(listed)).not.toMatch(/digest|secret"/);
  });

  it("sets its expiry", async () => {
    const issued = await create({ expiresInMs: 90 * DAY_MS });
    expect(issued.expiresAt).toBe(clock.now() + 90 * DAY_MS);
    await clock.advance(90 * DAY_MS);
    expect(await keys.check(issued.key)).toBeNull();
    expect(await administration.list()).toMatchObject([{ status: "expired" }]);
  });

  it.each([
    [["nobody"], 'There is no App "nobody". Apps that need a key: defi, games.'],
    [["defi", "x", "y"], 'There is no App "x", "y". Apps that need a key: defi, games.'],
    [["default"], "The App default needs no key. Apps that need a key: defi, games."],
    [
      [],
      "A key must open at least one App, unless it has scopes of the admin API only. Apps that need a key: defi, games.",
    ],
  ])("rejects the Apps %j, and names the configured ones", async (apps, detail) => {
    await expect(create({ apps })).rejects.toMatchObject({ code: "app_unknown", detail });
    expect(await administration.list()).toEqual([]);
  });

  it("opens no App for an operator's key", async () => {
    const issued = await create({ apps: [], scopes: ["admin:write", "admin:read"] });
    expect(issued).toMatchObject({ apps: [], scopes: ["admin:read", "admin:write"] });
    expect(await keys.check(issued.key)).toMatchObject({ apps: new Set(), scopes: new Set(issued.scopes) });
    await expect(create({ apps: ["defi"], scopes: ["admin:read"] })).rejects.toMatchObject({
      code: "app_unknown",
      detail: expect.stringContaining("opens no App") as string,
    });
    const both = await create({ apps: ["defi"], scopes: ["admin:read", "chat"] });
    expect(both).toMatchObject({ apps: ["defi"], scopes: ["chat", "admin:read"] });
  });

  it("rejects any App if no App needs a key", async () => {
    const none = new KeyAdministration({ store: store.keys, clock, apps: () => ["default"] });
    const creation = none.create({ apps: ["defi"], scopes: [], name: null, expiresInMs: null });
    await expect(creation).rejects.toMatchObject({
      detail: 'There is no App "defi". The configuration has no App that needs a key.',
    });
  });
});

describe("revoking a key", () => {
  it("invalidates it within five seconds, and lists it as revoked", async () => {
    const issued = await create();
    expect(await keys.check(issued.key)).not.toBeNull();
    expect(await administration.revoke(issued.id)).toMatchObject({
      status: "revoked",
      revokedAt: clock.now(),
    });
    await clock.advance(MAX_AGE_MS);
    expect(await keys.check(issued.key)).toBeNull();
    expect(await administration.list()).toMatchObject([{ id: issued.id, status: "revoked" }]);
  });

  it("requires an existing key", async () => {
    await expect(administration.revoke("nobody")).rejects.toMatchObject({ code: "app_key_unknown" });
  });
});

describe("rotating a key", () => {
  it("creates a key with the same Apps, scopes and lifetime, and keeps the old one valid for the overlap", async () => {
    const old = await create({
      apps: ["defi", "games"],
      scopes: ["secrets", "chat", "chat"],
      name: "web",
      expiresInMs: 90 * DAY_MS,
    });
    await clock.advance(30 * DAY_MS);
    const next = await administration.rotate(old.id, DAY_MS);
    expect(next).toMatchObject({
      name: "web",
      apps: ["defi", "games"],
      scopes: ["chat", "secrets"],
      expiresAt: clock.now() + 90 * DAY_MS,
    });
    expect(next.key).not.toBe(old.key);
    expect(await keys.check(next.key)).toMatchObject({ keyId: next.id });
    await clock.advance(DAY_MS - 1);
    expect(await keys.check(old.key)).toMatchObject({ keyId: old.id });
    await clock.advance(1);
    expect(await keys.check(old.key)).toBeNull();
    expect(await keys.check(next.key)).not.toBeNull();
  });

  it("requires an existing key that is still valid", async () => {
    await expect(administration.rotate("nobody", DAY_MS)).rejects.toMatchObject({ code: "app_key_unknown" });
    const { id } = await create();
    await administration.revoke(id);
    await expect(administration.rotate(id, DAY_MS)).rejects.toMatchObject({ code: "app_key_ended" });
    expect(await administration.list()).toHaveLength(1);
  });
});
