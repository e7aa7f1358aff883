import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  target,
  remove,
  chat,
  startTurn,
  identityOf,
  complete,
  load,
  record,
  allEvents,
  types,
} from "./fixtures/scenario.ts";

export function describeQueue(openStore: OpenStore): void {
  describe("the queue of turns", () => {
    const given = givenStore(openStore, "all, without sessions");

    const claim = (count: number, fullProviders: string[] = [], owner = "owner") =>
      given.store.executeEach({
        kind: "claimTurns",
        owner,
        agentMessageIds: Array.from({ length: count }, () => randomUUID()),
        fullProviders,
        models: {},
      });

    /** Creates sessions with a waiting turn each, the first one waiting longest. */
    async function waitingSessions(count: number): Promise<string[]> {
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1) {
        ids.push(randomUUID());
        await chat(given.store, ids[index]!, `message ${index}`);
        await given.clock.advance(1);
      }
      return ids;
    }

    it("returns the turns that have waited longest, up to the requested number", async () => {
      const ids = await waitingSessions(3);
      const agentMessageIds = [randomUUID(), randomUUID()];
      const claimed = await given.store.executeEach({
        kind: "claimTurns",
        owner: "me",
        agentMessageIds,
        fullProviders: [],
        models: {},
      });
      expect(claimed.map(({ session }) => session.id)).toEqual(ids.slice(0, 2));
      expect(claimed.map(({ outcome }) => outcome?.agentMessage.id)).toEqual(agentMessageIds);
      expect((await claim(5)).map(({ session }) => session.id)).toEqual(ids.slice(2));
      expect(await claim(5)).toEqual([]);
    });

    it("returns the changes of each claim", async () => {
      const [id] = await waitingSessions(1);
      const before = await allEvents(given.store, id!);
      const [claimed] = await claim(1);
      expect(claimed).toMatchObject({
        created: false,
        loaded: null,
        session: await record(given.store, id!),
      });
      expect(claimed?.outcome).toMatchObject({
        sessionId: id,
        number: 1,
        attempt: 1,
        userText: "message 0",
        epoch: claimed?.session.epoch,
      });
      expect(types(claimed?.events ?? [])).toEqual(["message_updated", "message_created"]);
      expect(await allEvents(given.store, id!)).toEqual([...before, ...(claimed?.events ?? [])]);
      await complete(given.store, claimed!.outcome!, "answer");
    });

    it("never gives a turn to two owners", async () => {
      const ids = await waitingSessions(6);
      const claimed = await Promise.all([claim(4, [], "one"), claim(4, [], "two")]);
      expect(claimed.flat().map(({ session }) => session.id)).toEqual(ids);
      const epochs = claimed.flat().map(({ session }) => session.epoch);
      expect(new Set(epochs).size).toBe(6);
    });

    it("skips turns whose provider is at its limit", async () => {
      const slow = randomUUID();
      await given.store.execute({
        kind: "setModel",
        target: target(slow),
        input: {
          app: "default",
          rig: "slow/model",
          utilityModel: null,
        },
      });
      await chat(given.store, slow, "first", { models: ["demo/assistant", "slow/model"] });
      const [other] = await waitingSessions(1);
      expect((await claim(2, ["slow", "none"])).map(({ session }) => session.id)).toEqual([other]);
      expect(await claim(2, ["slow"])).toEqual([]);
      expect((await claim(2)).map(({ session }) => session.id)).toEqual([slow]);
    });

    it("runs one turn of a session at a time, in the order of its messages", async () => {
      const id = randomUUID();
      const first = await startTurn(given.store, id, "one");
      await chat(given.store, id, "two");
      await chat(given.store, id, "three");
      expect(await claim(5)).toEqual([]);
      await complete(given.store, first, "answer one");
      const [second, ...none] = await claim(5);
      expect(none).toEqual([]);
      expect(second?.outcome?.userText).toBe("two");
      await given.store.execute({
        kind: "fail",
        target: { turn: identityOf(second!.outcome!) },
        input: {
          text: "half",
          failure: {
            code: "model_error",
            message: "m",
          },
        },
      });
      const [third] = await claim(5);
      expect(third?.outcome?.userText).toBe("three");
      await complete(given.store, third!.outcome!, "answer three");
      const { messages, session } = await load(given.store, id);
      expect(messages.map(({ content }) => content)).toEqual([
        "one",
        "answer one",
        "two",
        "three",
        "half",
        "answer three",
      ]);
      expect(session.status).toBe("idle");
    });

    it("counts waiting turns, claimable or behind another turn, up to a limit", async () => {
      expect(await given.store.turns.countWaiting(10)).toBe(0);
      await waitingSessions(2);
      const busy = randomUUID();
      await startTurn(given.store, busy, "runs");
      await chat(given.store, busy, "behind");
      expect(await given.store.turns.countWaiting(10)).toBe(3);
      expect(await given.store.turns.countWaiting(2)).toBe(2);
      await claim(1);
      expect(await given.store.turns.countWaiting(10)).toBe(2);
      await given.store.turns.releaseDeadLeases("nobody");
      expect(await given.store.turns.countWaiting(10)).toBe(4);
    });

    it("drops the turns of a deleted session", async () => {
      const [id] = await waitingSessions(1);
      await remove(given.store, { session: id!, birth: null, load: false, access: null });
      expect(await given.store.turns.countWaiting(10)).toBe(0);
      expect(await claim(1)).toEqual([]);
    });
  });
}
