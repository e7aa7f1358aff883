import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  target,
  existing,
  open,
  rename,
  remove,
  chatInput,
  chat,
  chatWith,
  startTurn,
  identityOf,
  step,
  complete,
  messagesOf,
  allEvents,
  everything,
} from "./fixtures/scenario.ts";

export function describeBatches(openStore: OpenStore): void {
  describe("concurrent calls", () => {
    const given = givenStore(openStore, "all");

    it("are answered in commit order", async () => {
      const id = randomUUID();
      const answered: number[] = [];
      await Promise.all(
        Array.from({ length: 20 }, async (_empty, index) => {
          const { outcome } = await chat(given.store, id, `message ${index}`, { maxQueued: 100 });
          answered.push(outcome.kind === "accepted" ? outcome.turn : 0);
        }),
      );
      expect(answered).toEqual(Array.from({ length: 20 }, (_empty, index) => index + 1));
      const events = await allEvents(given.store, id);
      expect(events.map(({ number }) => number)).toEqual(events.map((_event, index) => index + 1));
    });

    it("see the changes of earlier ones", async () => {
      const id = randomUUID();
      const [opened, found, renamed, page, removed, gone] = await Promise.all([
        open(given.store, target(id)),
        given.store.sessions.find(id),
        rename(given.store, existing(id), "Mine"),
        given.store.events.after(id, 0, 10),
        remove(given.store, existing(id)),
        given.store.sessions.find(id),
      ]);
      expect(found).toMatchObject(opened!.session);
      expect(page).toMatchObject({ head: 1, events: renamed?.events });
      expect(removed?.session).toMatchObject({ incarnation: opened?.session.incarnation });
      expect(gone).toBeNull();
    });

    it("change nothing if their values cannot be stored, and their neighbours succeed", async () => {
      const [id, other] = [randomUUID(), randomUUID()];
      const turn = await startTurn(given.store, id, "hello");
      const before = await everything(given.store, id);
      // A value that is not JSON, despite its type.
      const parts = [10n] as never;
      const [failed, neighbour] = await Promise.allSettled([
        given.store.execute({
          kind: "complete",
          target: { turn: identityOf(turn) },
          input: { step: step(1, "hi", { parts }) },
        }),
        chat(given.store, other, "hello"),
      ]);
      expect(failed.status).toBe("rejected");
      expect(neighbour).toMatchObject({ status: "fulfilled", value: { outcome: { kind: "accepted" } } });
      expect(await everything(given.store, id)).toEqual(before);
      expect(await complete(given.store, turn, "hi")).toMatchObject({ outcome: "ok" });
    });

    it("create a session once", async () => {
      const id = randomUUID();
      const opened = await Promise.all(Array.from({ length: 10 }, () => open(given.store, target(id))));
      expect(opened.map((committed) => committed?.created)).toEqual([true, ...Array(9).fill(false)]);
      expect(new Set(opened.map((committed) => committed?.session.incarnation)).size).toBe(1);
    });

    it("are not affected by a failing call, which leaves nothing behind", async () => {
      const [broken, other] = [randomUUID(), randomUUID()];
      const turn = identityOf(await startTurn(given.store, broken, "one"));
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "First."), calls: [], actions: [] },
      });
      const before = await everything(given.store, broken);
      const results = await Promise.allSettled([
        chat(given.store, other, "before"),
        // A duplicate step is a bug of the caller, which the database detects in the middle of the
        // transaction.
        given.store.execute({ kind: "complete", target: { turn }, input: { step: step(1, "First again.") } }),
        chat(given.store, other, "after"),
        given.store.sessions.find(broken),
      ]);
      expect(results.map(({ status }) => status)).toEqual([
        "fulfilled",
        "rejected",
        "fulfilled",
        "fulfilled",
      ]);
      expect(await everything(given.store, broken)).toEqual(before);
      expect(await given.store.sessions.messages(other, null, 10, null)).toMatchObject([
        { content: "before" },
        { content: "after" },
      ]);
      await given.store.execute({ kind: "complete", target: { turn }, input: { step: step(2, "Second.") } });
    });

    it("have the same effect as sequential calls on many sessions", async () => {
      const ids = Array.from({ length: 30 }, () => randomUUID());
      const turns = await Promise.all(ids.map((id) => startTurn(given.store, id, `from ${id}`)));
      expect(new Set(turns.map(({ epoch }) => epoch)).size).toBe(30);
      expect(new Set(turns.map(({ sessionKey }) => sessionKey)).size).toBe(30);
      await Promise.all(turns.map((turn) => complete(given.store, turn, `to ${turn.sessionId}`)));
      for (const id of ids) {
        const messages = await messagesOf(given.store, id);
        expect(messages.map(({ content }) => content)).toEqual([`from ${id}`, `to ${id}`]);
      }
    });
  });

  describe("a store", () => {
    const given = givenStore(openStore, "all");

    it("proves that it accepts writes", async () => {
      expect(await given.store.probe()).toBeUndefined();
    });

    it("uses its own clock", async () => {
      const id = randomUUID();
      await given.clock.advance(12_345);
      const { session } = await chatWith(given.store, target(id), chatInput("hello"));
      expect(session.createdAt).toBe(given.clock.now());
      await given.clock.advance(1000);
      const renamed = await rename(given.store, existing(id), "Mine");
      expect(renamed?.session).toMatchObject({
        createdAt: given.clock.now() - 1000,
        updatedAt: given.clock.now(),
      });
    });
  });
}
