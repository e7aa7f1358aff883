import { describe, expect, it } from "../harness.ts";
import { KEY_SCOPES } from "@colloquy/engine/internal/core/key-scopes";
import type { AppKeyRecord } from "@colloquy/engine/internal/core/ports/driven/store";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";

export function describeKeys(openStore: OpenStore): void {
  describe("App keys", () => {
    const given = givenStore(openStore, "each");
    const key = (id: string, more: Partial<AppKeyRecord> = {}): AppKeyRecord => ({
      id,
      name: null,
      apps: ["defi"],
      scopes: KEY_SCOPES,
      digest: id.padEnd(64, "0"),
      createdAt: given.clock.now(),
      expiresAt: null,
      revokedAt: null,
      ...more,
    });

    it("are found by their id after they are added", async () => {
      const { keys } = given.store;
      const full = key("b", {
        name: "web",
        apps: ["defi", "games"],
        scopes: ["read"],
        expiresAt: given.clock.now() + 1000,
      });
      await keys.add(full);
      await keys.add(key("a"));
      expect(await keys.find("b")).toEqual(full);
      expect(await keys.find("a")).toEqual(key("a"));
      expect(await keys.find("c")).toBeNull();
    });

    it("are added once: an existing id is rejected, and its key stays unchanged", async () => {
      const { keys } = given.store;
      await keys.add(key("a"));
      await expect(keys.add(key("a", { apps: ["games"] }))).rejects.toThrow();
      expect(await keys.find("a")).toEqual(key("a"));
    });

    it("are listed oldest first", async () => {
      const { keys } = given.store;
      expect(await keys.list()).toEqual([]);
      await keys.add(key("b"));
      await given.clock.advance(1000);
      await keys.add(key("a"));
      expect((await keys.list()).map(({ id }) => id)).toEqual(["b", "a"]);
    });

    it("are revoked immediately, and keep the time of the first revocation", async () => {
      const { keys } = given.store;
      await keys.add(key("a"));
      const revokedAt = given.clock.now();
      const revoked = { ...key("a"), revokedAt };
      expect(await keys.revoke("a")).toEqual(revoked);
      await given.clock.advance(1000);
      expect(await keys.revoke("a")).toEqual(revoked);
      expect(await keys.find("a")).toEqual(revoked);
      expect(await keys.revoke("b")).toBeNull();
    });

    it("are rotated: the new key is added, and the old one ends after the overlap", async () => {
      const { keys } = given.store;
      await keys.add(key("old"));
      const next = key("next");
      expect(await keys.rotate("old", next, 5000)).toEqual({
        ...key("old"),
        expiresAt: given.clock.now() + 5000,
      });
      expect(await keys.find("next")).toEqual(next);
      expect(await keys.find("old")).toMatchObject({ expiresAt: given.clock.now() + 5000 });
    });

    it("do not live longer through a rotation", async () => {
      const { keys } = given.store;
      await keys.add(key("old", { expiresAt: given.clock.now() + 1000 }));
      expect(await keys.rotate("old", key("next"), 5000)).toMatchObject({
        expiresAt: given.clock.now() + 1000,
      });
    });

    it("cannot be rotated if ended or unknown, and no key is added", async () => {
      const { keys } = given.store;
      await keys.add(key("revoked"));
      await keys.revoke("revoked");
      await keys.add(key("expired", { expiresAt: given.clock.now() }));
      for (const id of ["revoked", "expired", "unknown"]) {
        expect(await keys.rotate(id, key("next"), 5000)).toBeNull();
      }
      expect((await keys.list()).map(({ id }) => id).toSorted()).toEqual(["expired", "revoked"]);
    });

    it("are rotated atomically: if the new key cannot be added, the old one stays unchanged", async () => {
      const { keys } = given.store;
      await keys.add(key("old"));
      await keys.add(key("taken"));
      await expect(keys.rotate("old", key("taken"), 5000)).rejects.toThrow();
      expect(await keys.find("old")).toEqual(key("old"));
    });

    it("survive a restart", async () => {
      await given.store.keys.add(key("a"));
      if (given.reopen === null) return;
      given.store = await given.reopen();
      expect(await given.store.keys.find("a")).toEqual(key("a"));
    });
  });
}
