import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { SERVICE_ACTOR } from "@colloquy/engine/internal/core/audit";
import type { SessionAccess } from "@colloquy/engine/internal/core/session-access";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  accessTo,
  allEvents,
  chat,
  chatInput,
  chatWith,
  decide,
  DENY,
  everything,
  existing,
  NOTHING,
  open,
  record,
  remove,
  rename,
  target,
} from "./fixtures/scenario.ts";

/** Returns the access of a user whom the Apps accept, to sessions of all Apps. */
function userOf(owner: string, ...apps: readonly string[]): SessionAccess {
  return { apps: null, user: { owner, apps, takesNew: true } };
}

export function describeOwners(openStore: OpenStore): void {
  describe("the owner of a session", () => {
    const given = givenStore(openStore, "all");
    const alice = userOf("alice", "shop");

    const newSession = (access: SessionAccess | null = null) => ({ ...target(randomUUID()), access });
    const owned = async (access = alice): Promise<string> => {
      const to = newSession(access);
      await chatWith(given.store, to, chatInput("mine", { app: "shop" }));
      return to.session;
    };

    it("is the first user of an empty session, whatever the command, and is announced in its log", async () => {
      const { store } = given;
      const ways = [
        (to: ReturnType<typeof newSession>) => open(store, to),
        (to: ReturnType<typeof newSession>) => chatWith(store, to, chatInput("hello", { app: "shop" })),
        (to: ReturnType<typeof newSession>) =>
          store.execute({ kind: "interrupt", target: to, input: { streamed: null } }),
        (to: ReturnType<typeof newSession>) =>
          store.execute({
            kind: "setModel",
            target: to,
            input: { app: "shop", rig: "a/b", utilityModel: null },
          }),
      ];
      for (const way of ways) {
        const to = newSession(alice);
        expect((await way(to))?.events[0]).toEqual({
          number: 1,
          event: { type: "owner_changed", owner: "alice" },
        });
        const anonymous = newSession();
        await open(store, anonymous);
        await way({ ...anonymous, access: alice });
        for (const { session } of [to, anonymous])
          expect(await record(store, session)).toMatchObject({ owner: "alice" });
      }
    });

    it("finds their sessions in an App or in all, page by page in the order of creation", async () => {
      const { store } = given;
      const owner = randomUUID();
      const carol = userOf(owner, "shop");
      const ids = [await owned(carol), await owned(carol), await owned(carol)];
      const whose = { owner, publicKey: null, app: "shop" };
      const [first, second, ...more] = await store.sessions.heldBy(whose, 0, 2);
      expect([first?.id, second?.id, more]).toEqual([ids[0], ids[1], []]);
      const inAll = { ...whose, app: null };
      expect(await store.sessions.heldBy(inAll, second!.key, 2)).toMatchObject([{ id: ids[2] }]);
      expect(await store.sessions.heldBy({ ...whose, app: "default" }, 0, 2)).toEqual([]);
      expect(await store.sessions.heldBy({ ...whose, owner: "bob" }, 0, 2)).toEqual([]);
    });

    it("is the user of the first message, also of a session with a title and a model", async () => {
      const { store } = given;
      const to = newSession({ apps: null, user: { ...alice.user!, takesNew: false } });
      await open(store, to);
      await rename(store, to, "Mine");
      const model = { app: "shop", rig: "a/b", utilityModel: null };
      await store.execute({ kind: "setModel", target: to, input: model });
      expect(await record(store, to.session)).toMatchObject({ owner: null });
      await chatWith(store, { ...to, access: alice }, chatInput("hello", { app: "shop" }));
      expect(await record(store, to.session)).toMatchObject({ owner: "alice" });
    });

    it("stays unset for a session that has messages, for a user of another App, and after a rejection", async () => {
      const { store } = given;
      const busy = newSession();
      await chatWith(store, busy, chatInput("hello"));
      await open(store, { ...busy, access: alice });
      const foreign = newSession({ apps: null, user: { ...alice.user!, takesNew: false } });
      await open(store, foreign);
      const refused = newSession();
      await open(store, refused);
      const full = chatInput("hello", { maxMessageBytes: 1 });
      expect((await chatWith(store, { ...refused, access: alice }, full)).outcome).toMatchObject({
        reason: "session_full",
      });
      for (const { session } of [busy, foreign, refused])
        expect(await record(store, session)).toMatchObject({ owner: null });
    });

    it("alone can read and change the session, which is hidden from everyone else", async () => {
      const { store } = given;
      const id = await owned();
      const before = await everything(store, id);
      const others = [
        { apps: null, user: null },
        userOf("bob", "shop"),
        userOf("alice", "games"),
        accessTo("shop"),
      ];
      for (const access of others) {
        const to = { ...existing(id, true), access };
        const answers = [
          await open(store, { ...target(id, true), access }, { userState: { a: 1 }, publicKey: "0xa" }),
          await store.execute({ kind: "chat", target: to, input: chatInput("not mine", { app: "shop" }) }),
          await store.execute({ kind: "interrupt", target: to, input: { streamed: null } }),
          await store.execute({
            kind: "setModel",
            target: to,
            input: { app: "shop", rig: "a/b", utilityModel: null },
          }),
          await rename(store, to, "Mine"),
          await store.execute({ kind: "pin", target: to, input: { pinned: true } }),
          await decide(store, to, randomUUID(), DENY),
          await store.execute({ kind: "claim", target: to, input: { owner: "bob", wallets: [] } }),
          await remove(store, to),
        ];
        for (const answer of answers)
          expect(answer).toMatchObject({ outcome: "other_owner", created: false, events: [], loaded: null });
        expect(await store.sessions.messages(id, null, 10, access)).toBe("other_owner");
        const page = { limit: 10, bytes: 1000 };
        expect(await store.sessions.messagePage(id, null, page, access)).toBe("other_owner");
      }
      expect(await everything(store, id)).toEqual(before);
      expect(await rename(store, { ...existing(id), access: alice }, "Mine")).toMatchObject({
        outcome: "ok",
      });
      expect(await store.sessions.messages(id, null, 10, alice)).toHaveLength(1);
      expect(await store.sessions.messages(id, null, 10, null)).toHaveLength(1);
      expect(await remove(store, { ...existing(id), access: alice })).toMatchObject({ outcome: "ok" });
    });

    it("can use the session before it has an App, whichever App accepts the token", async () => {
      const to = newSession(alice);
      await open(given.store, to);
      const elsewhere = userOf("alice", "games");
      expect(await open(given.store, { ...to, access: elsewhere })).toMatchObject({ outcome: "ok" });
      expect(await open(given.store, { ...to, access: userOf("bob", "shop") })).toMatchObject({
        outcome: "other_owner",
      });
    });

    it("is nobody once the first chat binds the session to an App that does not accept the user, which is audited", async () => {
      const { store } = given;
      const to = newSession(alice);
      await open(store, to);
      const bound = await chatWith(store, to, chatInput("hello", { app: "games" }));
      expect(bound).toMatchObject({
        session: { owner: null, app: "games" },
        audited: [
          { action: "session_transferred", target: to.session, actor: SERVICE_ACTOR, details: { to: null } },
        ],
      });
    });

    it("is set by a claim of an idle, unowned session whose wallet the user holds", async () => {
      const { store } = given;
      const claim = (id: string, wallets: readonly string[] = []) =>
        store.execute({
          kind: "claim",
          target: { ...existing(id), access: alice },
          input: { owner: "alice", wallets },
        });
      const id = randomUUID();
      await chat(store, id, "hello", { app: "shop", publicKey: "0xa" });
      expect(await claim(id, ["0xa"])).toMatchObject({ outcome: "session_busy", events: [] });
      await store.execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
      expect(await claim(id, ["0xb"])).toMatchObject({ outcome: "wallet_not_proved", events: [] });
      expect(await claim(id, ["0xa"])).toMatchObject({
        outcome: "ok",
        session: { owner: "alice" },
        events: [{ event: { type: "owner_changed", owner: "alice" } }],
      });
      expect(await claim(id)).toMatchObject({ outcome: "ok", events: [] });
      expect((await allEvents(store, id)).at(-1)?.event).toEqual({ type: "owner_changed", owner: "alice" });
    });

    it("can bind a session with a wallet to an App that requires proof only as the wallet's holder", async () => {
      const { store } = given;
      const demanding = (access: SessionAccess) => ({ ...access, provedApps: ["shop"] });
      const holder = userOf("alice", "shop");
      const mine = { ...holder, user: { ...holder.user!, wallets: ["0xa"] } };
      const id = randomUUID();
      await open(store, target(id), { ...NOTHING, publicKey: "0xa" });
      const before = await everything(store, id);
      const say = (access: SessionAccess) =>
        store.execute({
          kind: "chat",
          target: { ...existing(id), access: demanding(access) },
          input: chatInput("hello", { app: "shop" }),
        });
      for (const access of [{ apps: null, user: null }, holder]) {
        expect(await say(access)).toMatchObject({ outcome: "wallet_not_proved", events: [], created: false });
        const fresh = { ...target(randomUUID()), access: demanding(access) };
        const input = chatInput("hello", { app: "shop", publicKey: "0xa" });
        await store.execute({ kind: "chat", target: fresh, input });
        expect(await store.sessions.find(fresh.session)).toBeNull();
      }
      expect(await everything(store, id)).toEqual(before);
      expect((await say(mine))?.outcome).toMatchObject({ kind: "accepted" });
    });

    it("fixes the session to the wallet that it proves, and to no other at the same address afterwards", async () => {
      const { store } = given;
      const proving = (owner: string, ...wallets: string[]): SessionAccess => ({
        apps: null,
        user: { owner, apps: ["shop"], wallets, takesNew: false },
        provedApps: ["shop"],
      });
      const walletOf = async (id: string) => (await record(store, id)).walletId;
      const say = (id: string, access: SessionAccess, app = "shop") => {
        const { user, provedApps } = access;
        const input = chatInput("hello", {
          app,
          provedWallets: provedApps?.includes(app) ? (user?.wallets ?? []) : [],
        });
        return store.execute({ kind: "chat", target: { ...existing(id), access }, input });
      };
      // Bound without proof, like every session of an earlier version.
      const [first, second, elsewhere, claimed] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
      for (const id of [first, second, claimed]) {
        await chat(store, id, "hello", { app: "shop", publicKey: "0xa" });
        await store.execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
      }
      await chat(store, elsewhere, "hello", { app: "games", publicKey: "0xa" });
      const [ten, one, account] = [
        proving("ten", "eip155:10:0xa"),
        proving("one", "eip155:1:0xa"),
        proving("me", "0xa"),
      ];
      await say(first, ten);
      expect(await record(store, first)).toMatchObject({ walletId: "eip155:10:0xa", walletProved: true });
      for (const other of [one, account]) await say(first, other);
      expect(await walletOf(first)).toBe("eip155:10:0xa");
      // Any command of a holder counts.
      await rename(store, { ...existing(second), access: account }, "Mine");
      await rename(store, { ...existing(second), access: one }, "Mine?");
      expect(await record(store, second)).toMatchObject({ walletId: "0xa", walletProved: false });
      // Not in an App that requires no proof.
      await rename(store, { ...existing(elsewhere), access: ten }, "Mine");
      expect(await walletOf(elsewhere)).toBeNull();
      const claim = (wallets: readonly string[]) =>
        store.execute({
          kind: "claim",
          target: { ...existing(claimed), access: ten },
          input: { owner: "ten", wallets },
        });
      expect(await claim(["eip155:10:0xb", "0xb"])).toMatchObject({ outcome: "wallet_not_proved" });
      await rename(store, { ...existing(claimed), access: ten }, "Mine");
      expect(await claim(["eip155:1:0xa", "0xa"])).toMatchObject({ outcome: "wallet_not_proved" });
      expect(await claim(["eip155:10:0xa"])).toMatchObject({ outcome: "ok" });
    });

    it("finds only sessions of the proved wallet in lists of its address, in Apps that require proof", async () => {
      const { store } = given;
      const address = randomUUID();
      const [ten, one] = [`eip155:10:${address}`, `eip155:1:${address}`];
      const ids: Record<string, string> = {};
      const add = async (name: string, app: string, wallet: string | null) => {
        await given.clock.advance(1);
        const id = randomUUID();
        const provedWallets = wallet === null ? [] : [wallet];
        await chat(store, id, "hello", { app, publicKey: address, provedWallets });
        ids[id] = name;
      };
      await add("unknown", "shop", null);
      await add("ten", "shop", ten);
      await add("one", "shop", one);
      await add("account", "shop", address);
      await add("elsewhere", "games", ten);
      const listed = async (...wallets: readonly string[]) => {
        const user = { owner: "me", apps: ["shop"], wallets, takesNew: false };
        const access = { apps: ["shop", "games"], user, provedApps: ["shop"] };
        const query = { publicKey: address, access, after: null };
        const found = await store.sessions.list({ ...query, limit: 10 });
        expect(await store.sessions.listKeys(query)).toEqual(found.map(({ key }) => key));
        return found.map(({ id }) => ids[id]);
      };
      expect(await listed(ten)).toEqual(["elsewhere", "ten", "unknown"]);
      expect(await listed(one)).toEqual(["elsewhere", "one", "unknown"]);
      expect(await listed(address)).toEqual(["elsewhere", "account", "unknown"]);
      expect(await listed(one, ten)).toEqual(["elsewhere", "one", "ten", "unknown"]);
      for (const id of Object.keys(ids)) if (ids[id] !== "unknown") await remove(store, existing(id));
      expect(await listed(ten)).toEqual(["unknown"]);
    });

    it("does not lose sessions in their own list to the wallets that they are fixed to", async () => {
      const { store } = given;
      const owner = randomUUID();
      const user = { owner, apps: ["shop"], wallets: ["eip155:10:0xa"], takesNew: true };
      const access = { apps: ["shop"], user, provedApps: ["shop"] };
      const to = newSession({ ...access, apps: null });
      await chatWith(
        store,
        to,
        chatInput("hello", { app: "shop", publicKey: "0xa", provedWallets: user.wallets }),
      );
      const query = { publicKey: null, access: { ...access, user: { ...user, wallets: [] } }, after: null };
      expect(await store.sessions.list({ ...query, limit: 10 })).toMatchObject([{ id: to.session }]);
    });

    it("is transferred from a former pseudonym of the same wallet only, which fixes the session", async () => {
      const { store } = given;
      const id = randomUUID();
      const to = { ...target(id), access: userOf("former", "shop") };
      await chatWith(store, to, chatInput("hello", { app: "shop", publicKey: "0xa" }));
      const inherit = (from: string, walletId: string) =>
        store.execute({
          kind: "transfer",
          target: existing(id),
          input: { from, owner: "ten", walletId, by: SERVICE_ACTOR, subject: "pseudonym" },
        });
      expect(await inherit("other", "eip155:10:0xa")).toMatchObject({ events: [], audited: [] });
      expect(await inherit("former", "eip155:10:0xa")).toMatchObject({
        session: { owner: "ten", walletId: "eip155:10:0xa" },
        audited: [{ action: "session_transferred", actor: SERVICE_ACTOR, details: { to: "pseudonym" } }],
      });
      expect(await inherit("former", "eip155:1:0xa")).toMatchObject({ events: [] });
      expect(await record(store, id)).toMatchObject({ owner: "ten", walletId: "eip155:10:0xa" });
    });

    it("can be changed and removed by an operator", async () => {
      const { store } = given;
      const id = await owned();
      const transfer = (owner: string | null) =>
        store.execute({ kind: "transfer", target: existing(id), input: { owner } });
      expect(await transfer("bob")).toMatchObject({ outcome: "ok", session: { owner: "bob" } });
      expect(await open(store, { ...existing(id), access: alice })).toMatchObject({ outcome: "other_owner" });
      expect(await transfer("bob")).toMatchObject({ events: [] });
      expect(await transfer(null)).toMatchObject({ session: { owner: null } });
      expect(await open(store, { ...existing(id), access: alice })).toMatchObject({ outcome: "ok" });
    });

    it("determines who finds the session in lists", async () => {
      const { store } = given;
      const wallet = randomUUID();
      const [me, you] = [randomUUID(), randomUUID()];
      const ids: Record<string, string> = {};
      const add = async (name: string, access: SessionAccess | null, app: string | null) => {
        await given.clock.advance(1);
        const to = newSession(access);
        await open(store, to, { ...NOTHING, publicKey: wallet });
        if (app !== null) await chatWith(store, to, chatInput("hello", { app }));
        ids[to.session] = name;
      };
      await add("nobody's", null, "shop");
      await add("mine", userOf(me, "shop"), "shop");
      await add("mine elsewhere", userOf(me, "games"), "games");
      await add("mine without App", userOf(me, "shop"), null);
      await add("yours", userOf(you, "shop"), "shop");
      const apps = ["default", "shop", "games"];
      const listed = async (publicKey: string | null, user: SessionAccess["user"]) => {
        const query = { publicKey, access: { apps, user }, after: null };
        const found = await store.sessions.list({ ...query, limit: 10 });
        const keys = await store.sessions.listKeys(query);
        expect(keys).toEqual(found.map(({ key }) => key));
        expect(await store.sessions.byKeys(keys, query.access)).toEqual(found);
        return found.map(({ id }) => ids[id]);
      };
      expect(await listed(wallet, null)).toEqual(["nobody's"]);
      const mine = { owner: me, apps: ["shop"], takesNew: true };
      expect(await listed(wallet, mine)).toEqual(["mine without App", "mine", "nobody's"]);
      expect(await listed(null, mine)).toEqual(["mine without App", "mine"]);
      expect(await listed(null, { ...mine, apps: ["shop", "games"] })).toEqual([
        "mine without App",
        "mine elsewhere",
        "mine",
      ]);
      expect(await listed(null, { ...mine, owner: you })).toEqual(["yours"]);
    });

    it("keeps the session from expiring, once it is not empty", async () => {
      const id = await owned();
      await given.store.execute({ kind: "interrupt", target: existing(id), input: { streamed: null } });
      await given.clock.advance(10);
      const before = given.clock.now() + 1000;
      const ended = await given.store.sessions.expire({
        emptyBefore: before,
        unboundBefore: before,
        byApp: { shop: { emptyBefore: before, unboundBefore: before } },
        limit: 1000,
      });
      expect(ended.map((one) => one.id)).not.toContain(id);
    });
  });

  describe("revoked tokens", () => {
    const given = givenStore(openStore, "all");

    it("are stored until they expire", async () => {
      const { users } = given.store;
      const [short, long] = [randomUUID(), randomUUID()];
      const now = given.clock.now();
      expect(await users.revokeToken(short, now + 1_000)).toBe(true);
      const once = [users.revokeToken(long, now + 1_000_000), users.revokeToken(long, now + 1_000_000)];
      expect((await Promise.all(once)).filter((isNew) => isNew)).toEqual([true]);
      expect(await users.isTokenRevoked(short)).toBe(true);
      expect(await users.isTokenRevoked(randomUUID())).toBe(false);
      await given.clock.advance(1_001);
      expect(await users.forgetRevokedTokens(100)).toBe(1);
      expect(await users.isTokenRevoked(short)).toBe(false);
      expect(await users.isTokenRevoked(long)).toBe(true);
    });
  });
}
