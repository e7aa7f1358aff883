import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { ANONYMOUS, type SessionAccess } from "@colloquy/engine/internal/core/session-access";
import { TITLE_LEASE_MS } from "@colloquy/engine/internal/core/commands/finish-title";
import type { StartedTurn } from "@colloquy/engine/internal/core/turn";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  askOf,
  callOf,
  chat,
  chatInput,
  chatWith,
  claimTurns,
  complete,
  everything,
  identityOf,
  load,
  messagesOf,
  open,
  record,
  remove,
  rename,
  startTurn,
  step,
  target,
} from "./fixtures/scenario.ts";

export function describeFork(openStore: OpenStore): void {
  describe("a fork", () => {
    const given = givenStore(openStore, "all");

    async function fork(origin: string, to: string, through: string | null = null, access = ANONYMOUS) {
      const input = { origin, through, access, messageId: randomUUID() };
      const committed = await given.store.execute({ kind: "fork", target: { ...target(to), access }, input });
      if (committed === null) throw new Error("The target was not created");
      return committed;
    }

    /** Answers each text. Returns the id of the session. */
    async function answered(...texts: string[]): Promise<string> {
      const id = randomUUID();
      for (const text of texts) {
        await complete(
          given.store,
          await startTurn(given.store, id, text, { app: "shop" }),
          `answer to ${text}`,
        );
        await given.clock.advance(1000);
      }
      return id;
    }
    const linesOf = async (id: string) =>
      (await messagesOf(given.store, id)).map(({ position, content }) => `${position} ${content}`);

    it("is not older than its messages when the clock was set back", async () => {
      const origin = await answered("one");
      given.clock.setBack(60_000);
      const copy = randomUUID();
      await fork(origin, copy);
      const turn = await startTurn(given.store, copy, "two", { app: "shop" });
      await complete(given.store, turn, "answer to two");
      const times = (await load(given.store, copy)).messages.map(({ createdAt }) => createdAt);
      expect(times).toHaveLength(4);
      expect(times).toEqual(times.toSorted((left, right) => left - right));
      expect((await record(given.store, copy)).updatedAt).toBe(times.at(-1));
    });

    it("copies turns with App, title, model, metadata, wallet and user state, and leaves the origin as it is", async () => {
      const { store, clock } = given;
      const origin = await answered("one", "two");
      await rename(store, target(origin), "Titled");
      const metadata = { project: "bridge" };
      await store.execute({ kind: "edit", target: target(origin), input: { metadata } });
      await open(store, target(origin), { userState: { basket: 3 }, publicKey: "0xab" });
      const before = await everything(store, origin);
      await clock.advance(60_000);
      const copy = randomUUID();
      const committed = await fork(origin, copy);
      expect(committed).toMatchObject({ outcome: "ok", created: true });
      expect(await everything(store, origin)).toEqual(before);
      const copied = await load(store, copy);
      const { app, title, titleSource, model, userState, publicKey, messageBytes } = before.session;
      expect(copied.session).toMatchObject({
        app,
        title,
        titleSource,
        model,
        userState,
        publicKey,
        messageBytes,
        metadata,
      });
      expect(copied.session).toMatchObject({ messageCount: 4, turnCount: 2, status: "idle" });
      expect(copied.session).toMatchObject({ owner: null, walletProved: false });
      const plain = ({ id: _, ...message }: (typeof copied.messages)[number]) => message;
      expect(copied.messages.map(plain)).toEqual(before.messages.map(plain));
      const ids = new Set([...copied.messages, ...before.messages].map(({ id }) => id));
      expect(ids.size).toBe(8);
    });

    it("gives the model the copied turns, with their steps", async () => {
      const { store } = given;
      const origin = randomUUID();
      const turn = await startTurn(store, origin, "look it up");
      await store.execute({
        kind: "stepWithCalls",
        target: { turn: identityOf(turn) },
        input: { step: step(1, "Looking."), calls: [callOf("a")], actions: [] },
      });
      const outcome = { callId: "a", output: { found: 1 }, isError: false, durationMs: 1 };
      await store.execute({
        kind: "toolResult",
        target: { turn: identityOf(turn) },
        input: { outcome, starts: [] },
      });
      await store.execute({
        kind: "complete",
        target: { turn: identityOf(turn) },
        input: { step: step(2, "Found.") },
      });
      const copy = randomUUID();
      await fork(origin, copy);
      const next = await startTurn(store, copy, "and now?");
      const last = await startTurn(store, origin, "and now?");
      const history = await store.turns.history(identityOf(next), 100_000);
      const expected = await store.turns.history(identityOf(last), 100_000);
      expect(history).toHaveLength(2);
      expect(history?.[0]?.steps).toHaveLength(2);
      expect(history?.[0]).toEqual({
        ...expected?.[0],
        agentMessage: { ...expected?.[0]?.agentMessage, id: expect.any(String) },
        userMessage: { ...expected?.[0]?.userMessage, id: expect.any(String) },
      });
    });

    it("is measured before it is made: by its turns, and only for those with access", async () => {
      const { store } = given;
      const origin = await answered("a".repeat(40_000), "b".repeat(20_000));
      const [first] = await messagesOf(store, origin);
      const sizeOf = (through: string | null, access: SessionAccess = ANONYMOUS) =>
        store.sessions.copySize(origin, through, access);
      const whole = await sizeOf(null);
      // The text of each answer is in its message, and twice in its step.
      expect(whole).toMatchObject({ app: "shop", lastTurn: 2 });
      expect(whole?.bytes).toBeGreaterThan(240_000);
      expect(whole?.bytes).toBeLessThan(245_000);
      const part = await sizeOf(first?.id ?? "");
      expect(part?.lastTurn).toBe(1);
      expect(part?.bytes).toBeGreaterThan(160_000);
      expect(part?.bytes).toBeLessThan(165_000);
      // A turn that has not finished is not copied.
      await startTurn(store, origin, "c".repeat(10_000), { app: "shop" });
      expect(await sizeOf(null)).toEqual(whole);
      expect(await sizeOf(randomUUID())).toEqual({ app: "shop", lastTurn: 0, bytes: 0 });
      expect(await sizeOf(null, { apps: ["other"], user: null })).toBeNull();
      expect(await store.sessions.copySize(randomUUID(), null, ANONYMOUS)).toBeNull();
    });

    it("leaves out turns that finished after it was measured", async () => {
      const { store } = given;
      const origin = await answered("one", "two");
      const [, , second] = await messagesOf(store, origin);
      const copyOf = async (through: string | null) => {
        const copy = randomUUID();
        const input = { origin, through, access: ANONYMOUS, messageId: randomUUID(), lastTurn: 1 };
        const committed = await store.execute({ kind: "fork", target: target(copy), input });
        return committed?.outcome === "ok" ? await linesOf(copy) : committed?.outcome;
      };
      expect(await copyOf(null)).toEqual(["1 one", "2 answer to one"]);
      expect(await copyOf(second?.id ?? "")).toBe("turn_not_finished");
    });

    it("ends with the whole turn of a message, without a gap where a later question had arrived", async () => {
      const { store } = given;
      const origin = randomUUID();
      const first = await startTurn(store, origin, "one");
      await chat(store, origin, "two");
      await chat(store, origin, "three");
      await complete(store, first, "answer to one");
      // Turns of other tests may be runnable too.
      const claimed = (await claimTurns(store, { count: 100 })).map(({ outcome }) => outcome as StartedTurn);
      const second = claimed.find(({ sessionId }) => sessionId === origin);
      if (second === undefined) throw new Error("The second turn was not claimed");
      await complete(store, second, "answer to two");
      const stored = await messagesOf(store, origin);
      expect(stored.map(({ content }) => content)).toEqual([
        "one",
        "answer to one",
        "two",
        "three",
        "answer to two",
      ]);
      const copy = randomUUID();
      await fork(origin, copy, stored[2]?.id);
      expect(await linesOf(copy)).toEqual(["1 one", "2 answer to one", "3 two", "4 answer to two"]);
      const shorter = randomUUID();
      await fork(origin, shorter, stored[1]?.id);
      expect(await linesOf(shorter)).toEqual(["1 one", "2 answer to one"]);
      // The third turn is still open.
      const all = randomUUID();
      await fork(origin, all);
      expect(await linesOf(all)).toEqual(await linesOf(copy));
      const refused = randomUUID();
      expect((await fork(origin, refused, stored[3]?.id)).outcome).toBe("turn_not_finished");
      expect((await fork(origin, refused, randomUUID())).outcome).toBe("message_not_found");
      expect(await store.sessions.find(refused)).toBeNull();
    });

    it("copies neither actions, nor system events, nor idempotency keys", async () => {
      const { store } = given;
      const origin = randomUUID();
      const turn = await startTurn(store, origin, "order", { idempotency: { key: "k", digest: "d" } });
      await store.execute({
        kind: "stepWithCalls",
        target: { turn: identityOf(turn) },
        input: { step: step(1, ""), calls: [callOf("a", { effect: "unsafe" })], actions: [askOf("a")] },
      });
      await store.execute({ kind: "interrupt", target: target(origin), input: { streamed: null } });
      const copy = randomUUID();
      await fork(origin, copy);
      const copied = await everything(store, copy);
      expect(copied.messages).toHaveLength(2);
      expect(copied).toMatchObject({ systemEvents: [], pendingActions: [] });
      expect(await store.actions.list(copy, 10)).toEqual([]);
      expect(await store.jobs.isKeyUsed(copy, "k")).toBe(false);
    });

    it("begins the log after its last event, so that a client with an earlier id fetches the snapshot", async () => {
      const { store } = given;
      const origin = await answered("one");
      const copy = randomUUID();
      await open(store, target(copy));
      const { events, session } = await fork(origin, copy);
      expect(events.map(({ event }) => event.type)).toEqual(["state_changed", "messages_copied"]);
      const page = await store.events.after(copy, 0, 10);
      expect(page).toMatchObject({ floor: session.head, head: session.head, events: [] });
      expect((await chat(store, copy, "two", { app: "shop" })).outcome).toMatchObject({ turn: 2 });
      expect((await everything(store, copy)).events.map(({ number }) => number)[0]).toBe(session.head + 1);
    });

    it("is refused for a target with messages, another wallet, or the id of its origin", async () => {
      const { store } = given;
      const origin = await answered("one");
      await open(store, target(origin), { userState: null, publicKey: "0xab" });
      const busy = await answered("other");
      const bound = randomUUID();
      await open(store, target(bound), { userState: null, publicKey: "0xcd" });
      for (const to of [busy, bound, origin]) {
        const before = await everything(store, to);
        expect((await fork(origin, to)).outcome).toBe("session_not_empty");
        expect(await everything(store, to)).toEqual(before);
      }
      expect((await fork(randomUUID(), randomUUID())).outcome).toBe("unknown_origin");
    });

    const userOf = (owner: string, ...apps: string[]): SessionAccess => ({
      apps: null,
      user: { owner, apps, takesNew: true },
    });

    it("belongs to the origin's owner, and to the user who forks a session without one where the App accepts them", async () => {
      const { store } = given;
      const alice = userOf("alice", "shop");
      const owned = randomUUID();
      await chatWith(store, { ...target(owned), access: alice }, chatInput("mine", { app: "shop" }));
      await store.execute({ kind: "interrupt", target: target(owned), input: { streamed: null } });
      const copies = Array.from({ length: 4 }, () => randomUUID());
      const [ofOwner = "", ofUser = "", ofStranger = "", refused = ""] = copies;
      expect(await fork(owned, ofOwner, null, alice)).toMatchObject({
        outcome: "ok",
        session: { owner: "alice" },
      });
      const open = await answered("one");
      expect(await fork(open, ofUser, null, alice)).toMatchObject({
        outcome: "ok",
        session: { owner: "alice" },
      });
      const stranger = userOf("bob", "default");
      expect(await fork(open, ofStranger, null, stranger)).toMatchObject({
        outcome: "ok",
        session: { owner: null },
      });
      for (const access of [ANONYMOUS, userOf("bob", "shop")])
        expect((await fork(owned, refused, null, access)).outcome).toBe("other_owner");
      expect((await fork(owned, refused, null, { ...alice, apps: ["default"] })).outcome).toBe("other_app");
      expect(await store.sessions.find(refused)).toBeNull();
      expect((await fork(open, ofOwner, null, userOf("bob", "shop"))).outcome).toBe("other_owner");
    });

    it("needs proof of the wallet where wallets are proved, and is then verified", async () => {
      const { store } = given;
      const origin = await answered("one");
      await open(store, target(origin), { userState: null, publicKey: "0xab" });
      const proved = (wallets: string[]): SessionAccess => ({
        apps: null,
        user: { owner: "alice", apps: ["shop"], takesNew: false, wallets },
        provedApps: ["shop"],
      });
      const copy = randomUUID();
      for (const access of [proved([]), { ...proved([]), user: null }])
        expect((await fork(origin, copy, null, access)).outcome).toBe("wallet_not_proved");
      expect(await store.sessions.find(copy)).toBeNull();
      expect((await fork(origin, copy, null, proved(["0xab"]))).session).toMatchObject({
        publicKey: "0xab",
        walletProved: true,
      });
    });

    it("keeps the origin's wallet, and rejects proof of another wallet at the same address", async () => {
      const { store } = given;
      const origin = await answered("one");
      const proving = (...wallets: string[]): SessionAccess => ({
        apps: null,
        user: { owner: "alice", apps: ["shop"], takesNew: false, wallets },
        provedApps: ["shop"],
      });
      const [ten, one] = [proving("eip155:10:0xab"), proving("eip155:1:0xab")];
      await open(store, { ...target(origin), access: ten }, { userState: null, publicKey: "0xab" });
      expect((await record(store, origin)).walletId).toBe("eip155:10:0xab");
      const [copy, taken] = [randomUUID(), randomUUID()];
      for (const access of [one, proving("0xab")])
        expect((await fork(origin, copy, null, access)).outcome).toBe("wallet_not_proved");
      expect((await fork(origin, copy, null, ten)).session).toMatchObject({
        walletId: "eip155:10:0xab",
        walletProved: true,
      });
      // A copy never moves a session from one wallet to another.
      const anywhere = { ...one, provedApps: ["shop", "default"], user: { ...one.user!, apps: ["default"] } };
      await open(store, { ...target(taken), access: anywhere }, { userState: null, publicKey: "0xab" });
      expect((await record(store, taken)).walletId).toBe("eip155:1:0xab");
      const both = proving("eip155:1:0xab", "eip155:10:0xab");
      expect((await fork(origin, taken, null, both)).outcome).toBe("session_not_empty");
      expect((await record(store, taken)).walletId).toBe("eip155:1:0xab");
    });

    it("comes from a user's empty session too, with its owner and user state", async () => {
      const { store } = given;
      const origin = randomUUID();
      const alice = userOf("alice", "shop");
      await open(store, { ...target(origin), access: alice }, { userState: { a: 1 }, publicKey: null });
      const access: SessionAccess = { apps: null, user: { owner: "alice", apps: ["shop"], takesNew: false } };
      expect((await fork(origin, randomUUID(), null, access)).session).toMatchObject({
        owner: "alice",
        userState: { a: 1 },
        messageCount: 0,
      });
    });

    it("gets a title if its origin has none yet", async () => {
      const { store, clock } = given;
      const copy = randomUUID();
      await fork(await answered("one"), copy);
      await clock.advance(TITLE_LEASE_MS);
      const due = await store.jobs.claimTitles(100, 1000);
      expect(due.filter(({ sessionId }) => sessionId === copy)).toMatchObject([{ text: "one", turn: 1 }]);
    });

    it("adds no turns to reports", async () => {
      const { store, clock } = given;
      const origin = await answered("one");
      const ended = async () =>
        (await store.admin.ended({ from: 0, to: (await store.admin.now()) + 1, after: null, limit: 1000 }))
          .length;
      const before = await ended();
      await clock.advance(1000);
      await fork(origin, randomUUID());
      expect(await ended()).toBe(before);
    });

    it("survives the deletion of its origin", async () => {
      const { store } = given;
      const origin = await answered("one");
      const copy = randomUUID();
      await fork(origin, copy);
      await remove(store, target(origin));
      expect(await linesOf(copy)).toEqual(["1 one", "2 answer to one"]);
      expect((await record(store, copy)).turnCount).toBe(1);
    });
  });
}
