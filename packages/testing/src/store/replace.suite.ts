import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { toWireMessage } from "@colloquy/engine/internal/core/message";
import { TITLE_LEASE_MS } from "@colloquy/engine/internal/core/commands/finish-title";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  askOf,
  callOf,
  chat,
  chatInput,
  complete,
  everything,
  identityOf,
  load,
  messagesOf,
  startTurn,
  step,
} from "./fixtures/scenario.ts";

export function describeReplace(openStore: OpenStore): void {
  describe("a chat that follows a message", () => {
    const given = givenStore(openStore, "all");

    it("is accepted once, apart from repeats", async () => {
      const id = randomUUID();
      await complete(given.store, await startTurn(given.store, id, "one"), "answer");
      const follows = (await messagesOf(given.store, id)).at(-1)?.id ?? "";
      const sent = [1, 2, 3].map((n) => ({ follows, idempotency: { key: `key ${n}`, digest: `${n}` } }));
      const send = async (more: (typeof sent)[number]) => (await chat(given.store, id, "two", more)).outcome;
      const outcomes = await Promise.all(sent.map(send));
      expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["accepted", "rejected", "rejected"]);
      expect(outcomes).toContainEqual({ kind: "rejected", reason: "message_not_last" });
      const accepted = sent[outcomes.findIndex(({ kind }) => kind === "accepted")]!;
      expect(await send(accepted)).toEqual({ kind: "replayed", turn: 2 });
      expect((await messagesOf(given.store, id)).filter(({ content }) => content === "two")).toHaveLength(1);
    });
  });

  describe("a chat that replaces a message", () => {
    const given = givenStore(openStore, "all");

    /** Answers each text, a second apart. Returns the ids of the user's messages. */
    async function answered(id: string, ...texts: string[]): Promise<string[]> {
      for (const text of texts) {
        await complete(given.store, await startTurn(given.store, id, text), `answer to ${text}`);
        await given.clock.advance(1000);
      }
      return (await messagesOf(given.store, id)).filter(({ role }) => role === "user").map(({ id }) => id);
    }

    it("removes messages, turns, steps, actions, system events and the log before it", async () => {
      const id = randomUUID();
      await answered(id, "one");
      await given.store.execute({
        kind: "edit",
        target: { session: id, birth: null, load: false, access: null },
        input: { title: "Titled" },
      });
      const turn = await startTurn(given.store, id, "the word is swordfish");
      const replaces = (await messagesOf(given.store, id))[2]?.id ?? "";
      const asked = askOf("a");
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn: identityOf(turn) },
        input: {
          step: step(1, "I know swordfish"),
          calls: [callOf("a", { effect: "unsafe" })],
          actions: [asked],
        },
      });
      await given.store.execute({ kind: "wait", target: { turn: identityOf(turn) }, input: null });
      const next = await startTurn(given.store, id, "another", { replaces });
      expect(next.number).toBe(3);
      const stored = await everything(given.store, id);
      expect(stored.messages.map(({ position, content }) => [position, content])).toEqual([
        [1, "one"],
        [2, "answer to one"],
        [3, "another"],
        [4, ""],
      ]);
      expect(stored.systemEvents).toEqual([]);
      expect(stored.pendingActions).toEqual([]);
      expect(JSON.stringify(stored)).not.toContain("swordfish");
      expect(await given.store.actions.list(id, 10)).toEqual([]);
      expect(stored.events.map(({ event }) => event.type)).toEqual([
        "messages_removed",
        "message_created",
        "message_created",
        "state_changed",
      ]);
      const page = await given.store.events.after(id, 0, 10);
      expect(page?.floor).toBe((stored.events[0]?.number ?? 0) - 1);
      const history = await given.store.turns.history(identityOf(next), 100_000);
      expect(history?.map(({ userMessage }) => userMessage.content)).toEqual(["one", "another"]);
      expect(history?.[1]?.steps).toEqual([]);
      expect(await complete(given.store, next, "done")).toBeDefined();
      await expect(complete(given.store, turn, "late")).rejects.toThrow();
    });

    it("replaces the first message, and returns the snapshot after it", async () => {
      const id = randomUUID();
      const [first = ""] = await answered(id, "one", "two");
      const committed = await given.store.execute({
        kind: "chat",
        target: { session: id, birth: null, load: true, access: null },
        input: chatInput("again", { replaces: first }),
      });
      const loaded = await load(given.store, id);
      expect(committed?.loaded).toEqual(loaded);
      expect(loaded.messages.map(toWireMessage)).toMatchObject([{ content: "again", status: "queued" }]);
      expect(loaded.session).toMatchObject({ messageCount: 1, turnCount: 3 });
    });

    it("checks its idempotency key before its target, which a retry no longer finds", async () => {
      const id = randomUUID();
      const [first = ""] = await answered(id, "one");
      const more = { replaces: first, idempotency: { key: "k", digest: "d" } };
      expect((await chat(given.store, id, "again", more)).outcome).toMatchObject({
        kind: "accepted",
        turn: 2,
      });
      expect((await chat(given.store, id, "again", more)).outcome).toEqual({ kind: "replayed", turn: 2 });
      expect((await chat(given.store, id, "again", { replaces: first })).outcome).toEqual({
        kind: "rejected",
        reason: "message_not_found",
      });
    });

    it("rejects the message of another session, and creates no session for it", async () => {
      const [id, other] = [randomUUID(), randomUUID()];
      const [first = ""] = await answered(id, "one");
      expect((await chat(given.store, other, "again", { replaces: first })).outcome).toMatchObject({
        reason: "message_not_found",
      });
      expect(await given.store.sessions.find(other)).toBeNull();
    });

    it("is atomic beside concurrent commands of its session", async () => {
      const id = randomUUID();
      const [first = "", second = ""] = await answered(id, "one", "two");
      const outcomes = await Promise.all([
        chat(given.store, id, "three"),
        chat(given.store, id, "zwei", { replaces: second }),
        chat(given.store, id, "four"),
        chat(given.store, id, "eins", { replaces: first }),
        chat(given.store, id, "five"),
      ]);
      expect(outcomes.every(({ outcome }) => typeof outcome === "object")).toBe(true);
      const { messages, session } = await load(given.store, id);
      expect(messages.map(({ position }) => position)).toEqual(messages.map((_, index) => index + 1));
      expect(messages.map(({ content }) => content)).toContain("eins");
      expect(messages.map(({ content }) => content)).not.toContain("one");
      expect(session.messageCount).toBe(messages.length);
    });

    it("adds a message under the client's id once, also when it comes twice at the same time", async () => {
      const id = randomUUID();
      await answered(id, "one");
      const own = { messageId: randomUUID(), isClientsId: true };
      const outcomes = await Promise.all([
        chat(given.store, id, "two", own),
        chat(given.store, id, "two", own),
        chat(given.store, id, "zwei", own),
      ]);
      expect(outcomes.map(({ outcome }) => outcome)).toMatchObject([
        { kind: "accepted", turn: 2 },
        { kind: "replayed", turn: 2 },
        { kind: "rejected", reason: "message_exists" },
      ]);
      await chat(given.store, id, "zwei", { ...own, replaces: own.messageId });
      const { messages } = await load(given.store, id);
      expect(messages.slice(2)).toMatchObject([{ id: own.messageId, position: 3, content: "zwei" }]);
    });

    it("generates the title from the new text, never from the replaced one", async () => {
      const id = randomUUID();
      const [first = ""] = await answered(id, "one");
      await chat(given.store, id, "two", { replaces: first });
      const target = { session: id, incarnation: (await load(given.store, id)).session.incarnation };
      await given.store.execute({ kind: "finishTitle", target, input: { title: "One", turn: 1 } });
      await given.clock.advance(TITLE_LEASE_MS);
      const due = await given.store.jobs.claimTitles(100, 1000);
      expect(due.filter(({ sessionId }) => sessionId === id)).toMatchObject([{ text: "two", turn: 2 }]);
      await given.store.execute({ kind: "finishTitle", target, input: { title: "Two", turn: 2 } });
      expect((await load(given.store, id)).session.title).toBe("Two");
    });
  });
}
