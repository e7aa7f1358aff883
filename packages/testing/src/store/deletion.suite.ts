import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { DELETED_MS } from "@colloquy/engine/internal/core/session";
import {
  chat,
  MODEL,
  target,
  existing,
  open,
  remove,
  touch,
  startTurn,
  complete,
  load,
  record,
  allEvents,
} from "./fixtures/scenario.ts";

export function describeDeletion(openStore: OpenStore): void {
  describe("a deleted session", () => {
    const given = givenStore(openStore, "all");

    it("leaves nothing behind, and returns its incarnation once", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "hello");
      expect(await remove(given.store, existing(id))).toMatchObject({
        session: { incarnation: turn.incarnation },
      });
      expect(await remove(given.store, existing(id))).toBeNull();
      expect(await given.store.sessions.find(id)).toBeNull();
      expect(await given.store.sessions.messages(id, null, 10, null)).toBeNull();
      expect(await given.store.events.after(id, 0, 10)).toBeNull();
    });

    it("leaves nothing to the next incarnation of its id", async () => {
      const id = randomUUID();
      const idempotency = { key: "k", digest: "d" };
      const old = await startTurn(given.store, id, "old", { idempotency });
      await given.store.turns.checkpoint([{ turn: old, offset: 0, text: "old text" }]);
      await remove(given.store, existing(id));
      const opened = await open(given.store, target(id, true));
      expect(opened).toMatchObject({ created: true, session: { head: 0, model: MODEL } });
      expect(opened?.session.key).not.toBe(old.sessionKey);
      expect(opened?.session.incarnation).not.toBe(old.incarnation);
      expect(opened?.loaded).toMatchObject({ messages: [], systemEvents: [], checkpointed: "" });
      const turn = await startTurn(given.store, id, "new", { idempotency });
      expect(turn).toMatchObject({ number: 1, attempt: 1, stepsDone: 0 });
      expect((await allEvents(given.store, id)).map(({ number }) => number)).toEqual([1, 2, 3]);
      await complete(given.store, turn, "new answer");
      expect((await load(given.store, id)).messages.map(({ content }) => content)).toEqual([
        "new",
        "new answer",
      ]);
    });

    describe("for a request that only reads", () => {
      const polling = (id: string) => {
        const to = target(id, true);
        return { ...to, birth: { ...to.birth, unlessDeleted: true } };
      };

      it("stays deleted for ten minutes", async () => {
        const id = randomUUID();
        await open(given.store, polling(id));
        expect(await given.store.jobs.wasDeleted(id)).toBe(false);
        await remove(given.store, existing(id));
        await given.clock.advance(DELETED_MS - 1);
        expect(await given.store.jobs.wasDeleted(id)).toBe(true);
        expect(await open(given.store, polling(id))).toBeNull();
        expect(await given.store.sessions.find(id)).toBeNull();
        await given.clock.advance(1);
        expect(await given.store.jobs.wasDeleted(id)).toBe(false);
        expect(await open(given.store, polling(id))).toMatchObject({ created: true });
      });

      it("exists once another request has begun it anew, until it is deleted again", async () => {
        const id = randomUUID();
        await open(given.store, target(id));
        await remove(given.store, existing(id));
        await chat(given.store, id, "again");
        expect(await open(given.store, polling(id))).toMatchObject({ created: false });
        await given.clock.advance(DELETED_MS / 2);
        await remove(given.store, existing(id));
        await given.clock.advance(DELETED_MS / 2);
        expect(await open(given.store, polling(id))).toBeNull();
      });

      it("stays deleted among requests for other sessions", async () => {
        const ids = [randomUUID(), randomUUID(), randomUUID()] as const;
        await open(given.store, target(ids[0]));
        await remove(given.store, existing(ids[0]));
        const opened = await Promise.all(ids.map((one) => open(given.store, polling(one))));
        expect(opened.map((one) => one?.created ?? null)).toEqual([null, true, true]);
      });
    });

    it("is forgotten after ten minutes", async () => {
      const { clock, store } = given;
      await clock.advance(DELETED_MS);
      await store.jobs.forgetDeletedSessions(1000);
      const ids = [randomUUID(), randomUUID()];
      for (const id of ids) {
        await open(store, target(id));
        await remove(store, existing(id));
      }
      expect(await store.jobs.forgetDeletedSessions(10)).toBe(0);
      await clock.advance(DELETED_MS);
      expect(await store.jobs.forgetDeletedSessions(1)).toBe(1);
      expect(await store.jobs.forgetDeletedSessions(10)).toBe(1);
      expect(await store.jobs.forgetDeletedSessions(10)).toBe(0);
    });

    it("never gives its key to another session", async () => {
      const keys = new Set<number>();
      for (let incarnation = 0; incarnation < 5; incarnation += 1) {
        const id = randomUUID();
        const opened = await open(given.store, target(id));
        keys.add(opened?.session.key ?? 0);
        await remove(given.store, existing(id));
      }
      expect(keys.size).toBe(5);
    });

    it("is reported when the use of its ended incarnation is recorded", async () => {
      const [id, removed, never] = [randomUUID(), randomUUID(), randomUUID()];
      await open(given.store, target(id));
      await open(given.store, target(removed));
      const { incarnation } = await record(given.store, id);
      const old = await record(given.store, removed);
      await remove(given.store, existing(removed));
      await open(given.store, target(removed));
      const gone = await touch(given.store, [
        { id, incarnation },
        { id: removed, incarnation: old.incarnation },
        { id: never, incarnation: "none" },
      ]);
      expect(gone).toEqual([removed, never]);
    });
  });
}
