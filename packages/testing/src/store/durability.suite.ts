import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { target, open, chat, startTurn, complete, allEvents, everything } from "./fixtures/scenario.ts";

export function describeDurability(openStore: OpenStore): void {
  describe("a closed store", () => {
    const given = givenStore(openStore, "each");

    it("has finished its calls, and rejects further ones", async () => {
      const ids = Array.from({ length: 5 }, () => randomUUID());
      const begun = ids.map((id) => chat(given.store, id, "hello"));
      const closed = given.store.close();
      await expect(given.store.sessions.find(ids[0]!)).rejects.toMatchObject({ status: 503 });
      await closed;
      expect((await Promise.all(begun)).map(({ outcome }) => outcome.kind)).toEqual(
        Array(5).fill("accepted"),
      );
      await given.store.close();
    });

    it("is unchanged when it is opened again", async () => {
      if (given.reopen === null) return;
      const [idle, running] = [randomUUID(), randomUUID()];
      const first = await startTurn(given.store, idle, "hello", { userState: { a: 1 }, publicKey: "0xa" });
      await complete(given.store, first, "hi");
      const turn = await startTurn(given.store, running, "hello");
      await given.store.turns.checkpoint([{ turn, offset: 0, text: "half of" }]);
      const before = [await everything(given.store, idle), await everything(given.store, running)];
      given.store = await given.reopen();
      expect([await everything(given.store, idle), await everything(given.store, running)]).toEqual(before);
      expect(await given.store.turns.checkpoint([{ turn, offset: 7, text: " it" }])).toEqual([true]);
      const next = await startTurn(given.store, randomUUID(), "hello");
      expect(next.epoch).toBeGreaterThan(turn.epoch);
      const opened = await open(given.store, target(randomUUID()));
      expect(opened?.session.key).toBeGreaterThan(turn.sessionKey);
      expect((await allEvents(given.store, idle)).length).toBe(before[0]?.events.length);
    });
  });
}
