import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { EVENT_LOG_MAX_BYTES } from "@colloquy/engine/internal/core/ports/driven/store";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  allEvents,
  chat,
  existing,
  load,
  open,
  record,
  remove,
  rename,
  startTurn,
  target,
} from "./fixtures/scenario.ts";

export function describeEvents(openStore: OpenStore): void {
  describe("the event log", () => {
    const given = givenStore(openStore, "all, without sessions");

    /** Creates a session whose title changed `count` times, a second apart. */
    async function renamedSession(count: number): Promise<string> {
      const id = randomUUID();
      await open(given.store, target(id));
      for (let index = 1; index <= count; index += 1) {
        await rename(given.store, existing(id), `title ${index}`);
        await given.clock.advance(1000);
      }
      return id;
    }

    const trim = (overrides: { keepCount?: number; keepAfter?: number; limit?: number }) =>
      given.store.events.trim({ keepCount: 0, keepAfter: given.clock.now(), limit: 100, ...overrides });

    const numbers = async (id: string) => (await allEvents(given.store, id)).map(({ number }) => number);

    it("has times that never go back when the clock is set back, like the session and its messages", async () => {
      const id = randomUUID();
      await startTurn(given.store, id, "one");
      const before = given.clock.now();
      given.clock.setBack(30 * 60_000);
      await given.store.execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
      await chat(given.store, id, "two");
      const { session, messages, systemEvents } = await load(given.store, id);
      expect(messages.map(({ createdAt }) => createdAt)).toEqual([before, before, before]);
      expect(systemEvents.map(({ item }) => item.created_at)).toEqual([new Date(before).toISOString()]);
      expect(session.updatedAt).toBe(before);
      await given.clock.advance(31 * 60_000);
      await chat(given.store, id, "three");
      expect((await record(given.store, id)).updatedAt).toBe(before + 60_000);
      await remove(given.store, existing(id));
    });

    it("is read in pages after a number", async () => {
      const id = await renamedSession(5);
      const { incarnation } = await record(given.store, id);
      const page = await given.store.events.after(id, 1, 2);
      expect(page).toEqual({
        incarnation,
        head: 5,
        floor: 0,
        events: [
          { number: 2, event: { type: "title_changed", new_title: "title 2" } },
          { number: 3, event: { type: "title_changed", new_title: "title 3" } },
        ],
      });
      expect(await given.store.events.after(id, 5, 2)).toEqual({
        incarnation,
        head: 5,
        floor: 0,
        events: [],
      });
      expect(await given.store.events.after(randomUUID(), 0, 2)).toBeNull();
    });

    it("keeps the last events of a session, however old they are", async () => {
      const id = await renamedSession(5);
      expect(await trim({ keepCount: 3 })).toBe(1);
      expect(await given.store.events.after(id, 0, 10)).toMatchObject({ head: 5, floor: 2 });
      expect(await numbers(id)).toEqual([3, 4, 5]);
      expect(await trim({ keepCount: 3 })).toBe(0);
    });

    it("keeps young events, however many there are", async () => {
      const id = await renamedSession(5);
      expect(await trim({ keepCount: 1, keepAfter: given.clock.now() - 3000 })).toBe(1);
      expect(await numbers(id)).toEqual([3, 4, 5]);
      expect(await given.store.events.after(id, 0, 10)).toMatchObject({ floor: 2 });
      expect(await trim({ keepCount: 1, keepAfter: given.clock.now() - 3000 })).toBe(0);
      expect(await trim({ keepCount: 1, keepAfter: given.clock.now() - 2999 })).toBe(1);
      expect(await numbers(id)).toEqual([4, 5]);
    });

    it("is trimmed in batches of sessions, skipping those with nothing to trim", async () => {
      const young = randomUUID();
      const ids = [await renamedSession(4), await renamedSession(4)];
      await open(given.store, target(young));
      const keepAfter = given.clock.now();
      for (const title of ["a", "b", "c", "d"]) await rename(given.store, existing(young), title);
      expect(await trim({ keepCount: 2, keepAfter, limit: 1 })).toBe(1);
      expect(await trim({ keepCount: 2, keepAfter, limit: 1 })).toBe(1);
      expect(await trim({ keepCount: 2, keepAfter, limit: 1 })).toBe(0);
      expect(await numbers(young)).toEqual([1, 2, 3, 4]);
      for (const id of ids) expect(await numbers(id)).toEqual([3, 4]);
    });

    it("is trimmed the same way if it is long", async () => {
      const id = randomUUID();
      await open(given.store, target(id));
      const titles = Array.from({ length: 1005 }, (_empty, index) => `title ${index}`);
      await Promise.all(titles.map((title) => rename(given.store, existing(id), title)));
      await given.clock.advance(1000);
      expect(await trim({ keepCount: 1004 })).toBe(1);
      expect(await trim({ keepCount: 1000 })).toBe(1);
      expect(await trim({ keepCount: 1000 })).toBe(0);
      expect(await given.store.events.after(id, 0, 1)).toMatchObject({ head: 1005, floor: 5 });
    });

    const bytesKept = async (id: string) => {
      const events = await allEvents(given.store, id);
      return events.reduce((sum, { event }) => sum + Buffer.byteLength(JSON.stringify(event)), 0);
    };

    it("counts its bytes, without the trimmed ones", async () => {
      const id = await renamedSession(5);
      await rename(given.store, existing(id), "größer");
      expect((await record(given.store, id)).eventBytes).toBe(await bytesKept(id));
      await trim({ keepCount: 2 });
      expect(await numbers(id)).toHaveLength(2);
      expect((await record(given.store, id)).eventBytes).toBe(await bytesKept(id));
    });

    it("drops the oldest events beyond 8 MiB, even if they are few and young", async () => {
      const [id, other] = [randomUUID(), await renamedSession(2)];
      await open(given.store, target(id));
      const startTurns = async (count: number) => {
        for (let index = 0; index < count; index += 1) {
          await chat(given.store, id, "水".repeat(32_768), { maxQueued: 1000, onBusy: "enqueue" });
        }
      };
      await startTurns(80);
      expect(await given.store.events.after(id, 0, 1)).toMatchObject({ floor: 0 });
      expect(await bytesKept(id)).toBeGreaterThan(7 * 1024 * 1024);
      await startTurns(8);
      const { head, eventBytes } = await record(given.store, id);
      const { floor, events } = (await given.store.events.after(id, 0, 1))!;
      expect(floor).toBeGreaterThan(0);
      expect(events[0]?.number).toBe(floor + 1);
      const kept = await numbers(id);
      expect([kept[0], kept.at(-1), kept.length]).toEqual([floor + 1, head, head - floor]);
      expect(eventBytes).toBe(await bytesKept(id));
      expect(eventBytes).toBeLessThanOrEqual(EVENT_LOG_MAX_BYTES);
      expect(eventBytes).toBeGreaterThan(5 * 1024 * 1024);
      expect(await numbers(other)).toEqual([1, 2]);
    });

    it("continues its numbers after a trim", async () => {
      const id = await renamedSession(3);
      await trim({ keepCount: 0 });
      expect(await numbers(id)).toEqual([]);
      const renamed = await rename(given.store, existing(id), "next");
      expect(renamed?.events.map(({ number }) => number)).toEqual([4]);
      expect(await numbers(id)).toEqual([4]);
    });
  });
}
