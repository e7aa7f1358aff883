import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { chat, existing, load, messagesOf, record, remove, accessTo } from "./fixtures/scenario.ts";

export function describeMessagePages(openStore: OpenStore): void {
  describe("pages of messages", () => {
    const given = givenStore(openStore, "all");

    it("end at a number of messages or bytes, after at least one message", async () => {
      const id = randomUUID();
      for (const text of ["one", "é".repeat(40_000), "three", "four"]) await chat(given.store, id, text);
      const all = (await load(given.store, id)).messages;
      const end = async (after: string | null, limit: number, bytes: number) => {
        const page = await given.store.sessions.messagePage(id, after, { limit, bytes }, null);
        if (page === null || typeof page === "string") throw new Error("There is no such page");
        return [all.findIndex((message) => message.id === page.last), page.hasMore];
      };
      expect(await end(null, 10, 1_000_000)).toEqual([3, false]);
      expect(await end(null, 4, 1_000_000)).toEqual([3, false]);
      expect(await end(null, 3, 1_000_000)).toEqual([2, true]);
      expect(await end(null, 10, 80_003)).toEqual([1, true]);
      expect(await end(null, 10, 80_004)).toEqual([2, true]);
      expect(await end(null, 10, 1)).toEqual([0, true]);
      expect(await end(all[0]!.id, 10, 1)).toEqual([1, true]);
      expect(await end(all[3]!.id, 10, 1)).toEqual([-1, false]);
      expect((await messagesOf(given.store, id)).map(({ position }) => position)).toEqual([1, 2]);
      const { sessions } = given.store;
      const any = { limit: 1, bytes: 1 };
      expect(await sessions.messagePage(randomUUID(), null, any, null)).toBeNull();
      expect(await sessions.messagePage(id, randomUUID(), any, null)).toBeNull();
      expect(await sessions.messagePage(id, null, any, accessTo("defi"))).toBe("other_app");
    });

    it("start after a message, and are null for an unknown session or message", async () => {
      const [id, other] = [randomUUID(), randomUUID()];
      for (const text of ["one", "two", "three"]) await chat(given.store, id, text);
      await chat(given.store, other, "elsewhere");
      const all = await messagesOf(given.store, id);
      expect(all.map(({ content }) => content)).toEqual(["one", "two", "three"]);
      const page = await messagesOf(given.store, id, all[0]?.id, 1);
      expect(page.map(({ content }) => content)).toEqual(["two"]);
      expect(await given.store.sessions.messages(id, all[2]?.id ?? "", 10, null)).toEqual([]);
      const elsewhere = await messagesOf(given.store, other);
      expect(await given.store.sessions.messages(id, elsewhere[0]?.id ?? "", 10, null)).toBeNull();
      expect(await given.store.sessions.messages(randomUUID(), null, 10, null)).toBeNull();
    });

    it("are null for an incarnation that was deleted, although the id is in use again", async () => {
      const id = randomUUID();
      await chat(given.store, id, "one");
      const { incarnation } = await record(given.store, id);
      expect(await given.store.sessions.messages(id, null, 10, null, incarnation)).toHaveLength(1);
      await remove(given.store, existing(id));
      await chat(given.store, id, "two");
      expect(await given.store.sessions.messages(id, null, 10, null, incarnation)).toBeNull();
    });
  });
}
