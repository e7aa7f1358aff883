import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { target, open, load, record, everything, types } from "./fixtures/scenario.ts";

export function describeUserState(openStore: OpenStore): void {
  describe("user state and wallet", () => {
    const given = givenStore(openStore, "all");

    it("drops values of a wrong type from user state that an older version stored", async () => {
      const id = randomUUID();
      const userState = { connection: true, evm: { address: "0xa", chain_id: [] }, theme: "dark" };
      await open(given.store, target(id), { userState, publicKey: null });
      const read = await given.store.sessions.find(id);
      expect(read?.userState).toEqual({ evm: { address: "0xa" }, theme: "dark" });
    });

    it("merges user state, and publishes the same change once", async () => {
      const id = randomUUID();
      await open(given.store, target(id), { userState: { evm: { chain_id: 1 } }, publicKey: null });
      const merged = { userState: { evm: { address: "0xa" } }, publicKey: null };
      const committed = await open(given.store, target(id), merged);
      expect(committed?.session.userState).toEqual({ evm: { chain_id: 1, address: "0xa" } });
      expect(types(committed?.events ?? [])).toEqual(["state_changed"]);
      expect((await open(given.store, target(id), merged))?.events).toEqual([]);
      expect((await load(given.store, id)).session.userState).toEqual({
        evm: { chain_id: 1, address: "0xa" },
      });
    });

    it("keeps keys of user state that are special in JavaScript", async () => {
      const id = randomUUID();
      const userState = JSON.parse('{"__proto__": {"a": 1}, "constructor": null}');
      await open(given.store, target(id), { userState, publicKey: null });
      expect(JSON.stringify((await record(given.store, id)).userState)).toBe(JSON.stringify(userState));
    });

    it("rejects user state that is too large, and creates no session for it", async () => {
      const id = randomUUID();
      const tooLarge = { userState: { note: "x".repeat(9000) }, publicKey: null };
      const committed = await open(given.store, target(id), tooLarge);
      expect(committed).toMatchObject({ outcome: "user_state_too_large", created: false, events: [] });
      expect(await given.store.sessions.find(id)).toBeNull();
    });

    it("binds the first wallet, and rejects another one without a change", async () => {
      const id = randomUUID();
      await open(given.store, target(id), { userState: null, publicKey: "0xa" });
      const before = await everything(given.store, id);
      const other = { userState: { a: 1 }, publicKey: "0xb" };
      expect((await open(given.store, target(id), other))?.outcome).toBe("wallet_mismatch");
      expect(await everything(given.store, id)).toEqual(before);
      const same = { userState: null, publicKey: "0xa" };
      expect((await open(given.store, target(id), same))?.outcome).toBe("ok");
    });
  });
}
