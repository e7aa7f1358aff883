import { describe, expect, it } from "../harness.ts";
import type { SealedSecret } from "@colloquy/engine/internal/core/ports/driven/secret-store";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";

function secret(clientId: string, name: string, more: Partial<SealedSecret> = {}): SealedSecret {
  return { app: "defi", clientId, name, keyId: "k1", sealed: `sealed ${name}`, ...more };
}

export function describeSecrets(openStore: OpenStore): void {
  describe("sealed secrets", () => {
    const given = givenStore(openStore, "each");

    it("are stored by App and client, and returned in order of their names", async () => {
      const { secrets } = given.store;
      await secrets.bringInForce("k1", null);
      const [a, b, of2, ofGames] = [
        secret("web-1", "A"),
        secret("web-1", "B"),
        secret("web-2", "A"),
        secret("web-1", "A", { app: "games" }),
      ];
      expect(await secrets.put([b, of2, a, ofGames])).toBe("k1");
      expect(await secrets.of("defi", "web-1")).toEqual([a, b]);
      expect(await secrets.of("defi", "web-2")).toEqual([of2]);
      expect(await secrets.of("games", "web-1")).toEqual([ofGames]);
      expect(await secrets.of("games", "web-2")).toEqual([]);
    });

    it("are replaced by a later value of the same name", async () => {
      const { secrets } = given.store;
      await secrets.bringInForce("k1", null);
      await secrets.put([secret("web-1", "A"), secret("web-1", "B")]);
      const later = secret("web-1", "A", { sealed: "later" });
      await secrets.put([later]);
      expect(await secrets.of("defi", "web-1")).toEqual([later, secret("web-1", "B")]);
    });

    it("are removed one by one, or all of a client, and counted", async () => {
      const { secrets } = given.store;
      await secrets.bringInForce("k1", null);
      await secrets.put(["A", "B", "C"].map((name) => secret("web-1", name)));
      await secrets.put([secret("web-2", "A")]);
      expect(await secrets.remove("defi", "web-1", "B")).toBe(1);
      expect(await secrets.remove("defi", "web-1", "B")).toBe(0);
      expect(await secrets.remove("games", "web-1", null)).toBe(0);
      expect((await secrets.of("defi", "web-1")).map(({ name }) => name)).toEqual(["A", "C"]);
      expect(await secrets.remove("defi", "web-1", null)).toBe(2);
      expect(await secrets.of("defi", "web-1")).toEqual([]);
      expect(await secrets.of("defi", "web-2")).toEqual([secret("web-2", "A")]);
    });

    it("are written atomically, and only under the active key", async () => {
      const { secrets } = given.store;
      expect(await secrets.keyInForce()).toBeNull();
      expect(await secrets.put([secret("web-1", "A")])).toBeNull();
      await secrets.bringInForce("k1", null);
      expect(await secrets.put([secret("web-1", "A"), secret("web-1", "B", { keyId: "k2" })])).toBe("k1");
      expect(await secrets.of("defi", "web-1")).toEqual([]);
    });

    it("survive a restart, as does the active key", async () => {
      await given.store.secrets.bringInForce("k1", null);
      await given.store.secrets.put([secret("web-1", "A")]);
      if (given.reopen === null) return;
      given.store = await given.reopen();
      expect(await given.store.secrets.of("defi", "web-1")).toEqual([secret("web-1", "A")]);
      expect(await given.store.secrets.keyInForce()).toBe("k1");
    });
  });

  describe("the master key in force", () => {
    const given = givenStore(openStore, "each");

    it("is replaced on request, or if no secret exists", async () => {
      const { secrets } = given.store;
      expect(await secrets.bringInForce("k1", null)).toBe("k1");
      expect(await secrets.bringInForce("k2", null)).toBe("k2");
      await secrets.put([secret("web-1", "A", { keyId: "k2" })]);
      expect(await secrets.bringInForce("k3", null)).toBe("k2");
      expect(await secrets.bringInForce("k3", "k1")).toBe("k2");
      expect(await secrets.keyInForce()).toBe("k2");
      expect(await secrets.bringInForce("k3", "k2")).toBe("k3");
      expect(await secrets.keyInForce()).toBe("k3");
    });

    it("lists the secrets under other keys, in batches and in order", async () => {
      const { secrets } = given.store;
      await secrets.bringInForce("k1", null);
      const old = [
        secret("web-1", "A"),
        secret("web-1", "B"),
        secret("web-2", "A"),
        secret("", "A", { app: "games" }),
      ];
      await secrets.put(old.toReversed());
      await secrets.bringInForce("k2", "k1");
      await secrets.put([secret("web-1", "AA", { keyId: "k2" })]);
      expect(await secrets.countByKey()).toEqual({ k1: 4, k2: 1 });
      const first = await secrets.sealedByOthers("k2", null, 3);
      expect(first).toEqual(old.slice(0, 3));
      expect(await secrets.sealedByOthers("k2", first.at(-1) ?? null, 3)).toEqual(old.slice(3));
      expect(await secrets.sealedByOthers("k2", old.at(-1) ?? null, 3)).toEqual([]);
      expect(await secrets.sealedByOthers("k1", null, 3)).toEqual([secret("web-1", "AA", { keyId: "k2" })]);
    });

    it("permits resealing secrets that were not changed in the meantime", async () => {
      const { secrets } = given.store;
      await secrets.bringInForce("k1", null);
      const before = secret("web-1", "A");
      const after = { ...before, keyId: "k2", sealed: "anew" };
      await secrets.put([before, secret("web-1", "B")]);
      expect(await secrets.replace(before, after)).toBe(false);
      await secrets.bringInForce("k2", "k1");
      expect(await secrets.replace(before, after)).toBe(true);
      expect(await secrets.replace(before, after)).toBe(false);
      expect(await secrets.of("defi", "web-1")).toEqual([after, secret("web-1", "B")]);
    });

    it("does not permit resealing removed secrets", async () => {
      const { secrets } = given.store;
      await secrets.bringInForce("k1", null);
      await secrets.put([secret("web-1", "A")]);
      await secrets.remove("defi", "web-1", "A");
      await secrets.bringInForce("k2", "k1");
      expect(await secrets.replace(secret("web-1", "A"), secret("web-1", "A", { keyId: "k2" }))).toBe(false);
      expect(await secrets.of("defi", "web-1")).toEqual([]);
    });

    it("permits discarding undecryptable secrets, unless they were changed in the meantime", async () => {
      const { secrets } = given.store;
      await secrets.bringInForce("k1", null);
      await secrets.put([secret("web-1", "A", { sealed: "later" }), secret("web-1", "B")]);
      expect(await secrets.replace(secret("web-1", "A"), null)).toBe(false);
      expect(await secrets.replace(secret("web-1", "B"), null)).toBe(true);
      expect((await secrets.of("defi", "web-1")).map(({ name }) => name)).toEqual(["A"]);
    });
  });
}
