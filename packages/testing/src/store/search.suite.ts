import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { parseSearch } from "@colloquy/engine/internal/core/search-text";
import {
  ANONYMOUS,
  type SessionAccess,
  type SessionUser,
} from "@colloquy/engine/internal/core/session-access";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  callOf,
  chat,
  chatInput,
  chatWith,
  complete,
  existing,
  identityOf,
  messagesOf,
  remove,
  startTurn,
  step,
  target,
} from "./fixtures/scenario.ts";

export function describeSearch(openStore: OpenStore): void {
  describe("search", () => {
    const given = givenStore(openStore, "each");

    const userOf = (
      owner: string,
      wallets: readonly string[] = [],
    ): SessionAccess & { user: SessionUser } => ({
      apps: null,
      user: { owner, apps: ["shop"], wallets, takesNew: true },
      provedApps: ["shop"],
    });
    const alice = userOf("alice");

    /** Indexes all messages, batch by batch. */
    async function index(): Promise<void> {
      while ((await given.store.search.index()).hasMore);
    }
    async function find(
      query: string,
      sessions: Parameters<typeof given.store.search.find>[0]["sessions"],
      { before = null, limit = 50 }: { readonly before?: number | null; readonly limit?: number } = {},
    ) {
      const { words } = parseSearch(query)!;
      return await given.store.search.find({ sessions, words, before, limit });
    }
    const ofUser = (
      access: SessionAccess & { user: SessionUser },
      apps: readonly string[] = ["default", "shop"],
    ) => ({ kind: "user", access: { ...access, apps } }) as const;
    const ofSession = (id: string, access: SessionAccess = ANONYMOUS) =>
      ({ kind: "session", id, access }) as const;
    const textsIn = async (...parameters: Parameters<typeof find>) =>
      (await find(...parameters)).map(({ text }) => text);

    async function say(text: string, access: SessionAccess | null = null, publicKey: string | null = null) {
      const to = { ...target(randomUUID()), access };
      await chatWith(given.store, to, chatInput(text, { app: "shop", publicKey }));
      await given.clock.advance(1);
      return to.session;
    }

    it("finds messages once they have ended, newest first", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "What does the bridge cost?");
      await index();
      await given.clock.advance(1000);
      expect(await textsIn("bridge", ofSession(id))).toEqual(["What does the bridge cost?"]);
      await given.store.turns.checkpoint([{ turn, offset: 0, text: "The bridge" }]);
      await index();
      expect(await find("bridge", ofSession(id))).toHaveLength(1);
      await complete(given.store, turn, "The bridge costs a small fee.");
      await index();
      const [answer, question] = await find("bridge", ofSession(id));
      const [stored] = await messagesOf(given.store, id);
      expect(answer).toMatchObject({
        role: "assistant",
        text: "The bridge costs a small fee.",
        sessionId: id,
      });
      expect(question).toMatchObject({ role: "user", messageId: stored!.id, createdAt: stored!.createdAt });
      expect(answer!.place).toBeGreaterThan(question!.place);
      expect(await textsIn("BRIDGE Fee", ofSession(id))).toEqual(["The bridge costs a small fee."]);
      expect(await textsIn("brid", ofSession(id))).toHaveLength(2);
      expect(await textsIn("cost bridge", ofSession(id))).toHaveLength(1);
      expect(await textsIn("toll", ofSession(id))).toEqual([]);
      // Indexing again changes nothing.
      expect(await given.store.search.isDue()).toBe(false);
      await index();
      expect(await find("bridge", ofSession(id))).toHaveLength(2);
    });

    it("finds each message of a steered turn once it has ended", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "Plan a trip"));
      const calls = [callOf("c1")];
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "A trip to Rome."), calls, actions: [] },
      });
      await chat(given.store, id, "A short trip", { onBusy: "steer" });
      const outcome = { callId: "c1", output: 1, isError: false, durationMs: 1 };
      await given.store.execute({ kind: "toolResult", target: { turn }, input: { outcome, starts: [] } });
      await index();
      expect((await textsIn("trip", ofSession(id))).toSorted()).toEqual(["A short trip", "Plan a trip"]);
      await given.store.execute({
        kind: "beginStep",
        target: { turn },
        input: { step: 2, agentMessageId: randomUUID() },
      });
      await index();
      const begun = ["A short trip", "A trip to Rome.", "Plan a trip"];
      expect((await textsIn("trip", ofSession(id))).toSorted()).toEqual(begun);
      await given.store.execute({
        kind: "complete",
        target: { turn },
        input: { step: step(2, "One day trip.") },
      });
      await index();
      expect((await textsIn("trip", ofSession(id))).toSorted()).toEqual([
        "A short trip",
        "A trip to Rome.",
        "One day trip.",
        "Plan a trip",
      ]);
      expect(await given.store.search.isDue()).toBe(false);
    });

    it("returns pages without gaps, even for messages of the same millisecond", async () => {
      const ids: string[] = [];
      for (let count = 0; count < 12; count += 1) {
        const to = { ...target(randomUUID()), access: alice };
        await chatWith(given.store, to, chatInput(`page ${count}`, { app: "shop" }));
        if (count % 4 === 3) await given.clock.advance(1);
        ids.push(`page ${count}`);
      }
      await index();
      const found: string[] = [];
      let before: number | null = null;
      for (;;) {
        const page = await find("page", ofUser(alice), { before, limit: 5 });
        found.push(...page.map(({ text }) => text));
        if (page.length < 5) break;
        before = page.at(-1)!.place;
      }
      expect(found.toSorted()).toEqual(ids.toSorted());
      expect(new Set(found.slice(0, 4))).toEqual(new Set(ids.slice(8)));
    });

    it("finds characters of scripts without spaces, accents and emoji", async () => {
      const id = await say("我家在上海东边。 Die Straße, Łódź, C++ 🎵 الشّعب");
      await index();
      for (const query of ["上海", "海", "strasse", "lodz", "C++", "🎵", "الشعب"])
        expect([query, await find(query, ofSession(id))]).toMatchObject([query, [{ sessionId: id }]]);
      expect(await find("海上", ofSession(id))).toEqual([]);
    });

    it("finds words in every part of a long message, with the offset of the part", async () => {
      const words = Array.from({ length: 150_000 }, (_, number) => `word${number.toString(36)}`);
      const id = await say(`😀 ${words.join(" ")} last`);
      await index();
      for (const word of ["wordzz", words[75_000]!, words.at(-1)!, "last"]) {
        const [found] = await find(`"${word}"`, ofSession(id));
        expect(found!.text.split(" ")).toContain(word);
        expect(found!.text.length).toBeLessThanOrEqual(32_768);
      }
      const [first, second] = await find("word", ofSession(id));
      expect(first!.text.startsWith("😀 word0 ")).toBe(true);
      expect(first!.place).toBeGreaterThan(second!.place);
      expect(first!.messagePlace).toBeLessThan(second!.place);
      expect(await find("word", ofSession(id), { before: first!.messagePlace })).toEqual([]);
    });

    it("searches a single session only with access to it", async () => {
      const [own, other] = [await say("secret of one"), await say("secret of another")];
      const owned = await say("secret of alice", alice);
      await index();
      expect(await textsIn("secret", ofSession(own))).toEqual(["secret of one"]);
      expect(await textsIn("secret", ofSession(other))).toEqual(["secret of another"]);
      expect(await textsIn("secret", ofSession(owned))).toEqual([]);
      expect(await textsIn("secret", ofSession(own, { apps: ["default"], user: null }))).toEqual([]);
      expect(await textsIn("secret", ofSession(randomUUID()))).toEqual([]);
    });

    it("searches sessions of the user and of proved wallets, in Apps whose sessions they can list", async () => {
      await say("tea of alice", alice);
      await say("tea of bob", userOf("bob"));
      await say("tea of nobody");
      await say("tea of the wallet", userOf("carol", ["0xa"]), "0xa");
      await given.store.execute({
        kind: "transfer",
        target: existing(await say("tea of the wallet alone", userOf("carol", ["0xa"]), "0xa")),
        input: { owner: null, by: null },
      });
      await index();
      expect(await textsIn("tea", ofUser(alice))).toEqual(["tea of alice"]);
      expect(await textsIn("tea", ofUser(userOf("dave")))).toEqual([]);
      expect(await textsIn("tea", ofUser(userOf("dave", ["0xa"])))).toEqual(["tea of the wallet alone"]);
      expect(await textsIn("tea", ofUser(userOf("dave", ["0xb"])))).toEqual([]);
      expect(await textsIn("tea", ofUser(userOf("alice", ["0xa"])))).toEqual([
        "tea of the wallet alone",
        "tea of alice",
      ]);
      // An address gives no access in an App that requires no proof of wallets.
      expect(await textsIn("tea", ofUser({ ...userOf("dave", ["0xa"]), provedApps: [] }))).toEqual([]);
      expect(await textsIn("tea", ofUser(alice, ["default"]))).toEqual([]);
      expect(await textsIn("tea", ofUser(alice, []))).toEqual([]);
    });

    it("finds a session for its new owner after the owner changes", async () => {
      const id = await say("a claimed cup");
      await given.store.execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
      await index();
      expect(await find("cup", ofSession(id))).toHaveLength(1);
      await given.store.execute({
        kind: "claim",
        target: { ...existing(id), access: alice },
        input: { owner: "alice", wallets: [], by: null },
      });
      expect(await find("cup", ofSession(id))).toEqual([]);
      await index();
      expect(await textsIn("cup", ofUser(alice))).toEqual(["a claimed cup"]);
      expect(await find("cup", ofSession(id))).toEqual([]);
      await given.store.execute({
        kind: "transfer",
        target: existing(id),
        input: { owner: "bob", by: null },
      });
      expect(await find("cup", ofUser(alice))).toEqual([]);
      await index();
      expect(await textsIn("cup", ofUser(userOf("bob")))).toEqual(["a claimed cup"]);
    });

    it("drops deleted, expired and replaced messages at once, including queued ones", async () => {
      const [kept, deleted, replaced] = [randomUUID(), randomUUID(), randomUUID()];
      for (const id of [kept, deleted, replaced])
        await complete(given.store, await startTurn(given.store, id, "the cup"), "a cup of tea");
      await index();
      await remove(given.store, existing(deleted));
      await index();
      expect(await given.store.search.isDue()).toBe(false);
      const [question] = await messagesOf(given.store, replaced);
      await complete(
        given.store,
        await startTurn(given.store, replaced, "the glass", { replaces: question!.id }),
        "a glass of milk",
      );
      expect(await find("cup", ofSession(deleted))).toEqual([]);
      expect(await find("cup", ofSession(replaced))).toEqual([]);
      await index();
      expect(await textsIn("glass", ofSession(replaced))).toHaveLength(2);
      expect(await find("cup", ofSession(kept))).toHaveLength(2);
      // A new incarnation of the session does not find messages of the previous one.
      await chat(given.store, deleted, "anew");
      await index();
      expect(await find("cup", ofSession(deleted))).toEqual([]);
      const early = await say("never indexed cup");
      await remove(given.store, existing(early));
      await index();
      expect((await given.store.search.index()).hasMore).toBe(false);
      await given.clock.advance(1_000_000);
      await given.store.execute({ kind: "interrupt", target: existing(deleted), input: { streamed: null } });
      const at = given.clock.now() + 1;
      await given.store.sessions.expire({ emptyBefore: at, unboundBefore: at, limit: 100 });
      expect(await find("cup", ofSession(kept))).toEqual([]);
    });

    it("finds copied messages in a fork", async () => {
      const id = randomUUID();
      await complete(given.store, await startTurn(given.store, id, "the cup"), "a cup of tea");
      await index();
      const copy = randomUUID();
      const input = { origin: id, through: null, access: ANONYMOUS, messageId: randomUUID() };
      await given.store.execute({ kind: "fork", target: target(copy), input });
      await index();
      expect(await textsIn("cup", ofSession(copy))).toHaveLength(2);
      expect((await find("cup", ofSession(copy))).every(({ sessionId }) => sessionId === copy)).toBe(true);
      expect(await textsIn("cup", ofSession(id))).toHaveLength(2);
    });

    it("indexes remaining messages after a restart", async () => {
      const id = await say("a cup before the restart");
      if (given.reopen === null) return;
      given.store = await given.reopen();
      await index();
      expect(await textsIn("cup", ofSession(id))).toEqual(["a cup before the restart"]);
    });
  });
}
