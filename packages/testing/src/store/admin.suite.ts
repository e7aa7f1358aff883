import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import type {
  EndedTurn,
  SeenSession,
  UsePlace,
} from "@colloquy/engine/internal/core/ports/driven/admin-store";
import { LEASE_MS, NO_USAGE } from "@colloquy/engine/internal/core/turn";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  MODEL,
  target,
  open,
  claimOf,
  chat,
  startTurn,
  identityOf,
  step,
  callOf,
  askOf,
  complete,
} from "./fixtures/scenario.ts";

const ids = (sessions: readonly SeenSession[]): string[] => sessions.map(({ id }) => id);

export function describeAdmin(openStore: OpenStore): void {
  describe("the admin queries", () => {
    describeSessionsByUse(openStore);
    describeOpenSessions(openStore);
    describeTurns(openStore);
    describeEndedTurns(openStore);
    describeCounts(openStore);
    describeHandleKey(openStore);
  });
}

function describeHandleKey(openStore: OpenStore): void {
  describe("the key of session handles", () => {
    const given = givenStore(openStore, "all, without sessions");

    it("is the first that a node stores, for all of them", async () => {
      const { admin } = given.store;
      const [one, two] = await Promise.all([admin.handleKey("one"), admin.handleKey("two")]);
      expect(one).toBe(two);
      expect(["one", "two"]).toContain(one);
      expect(await admin.handleKey("three")).toBe(one);
    });
  });
}

function describeSessionsByUse(openStore: OpenStore): void {
  describe("sessions by their last use", () => {
    const given = givenStore(openStore, "all, without sessions");

    /** Creates one session of each kind, used a millisecond apart. */
    async function openAll(): Promise<string[]> {
      const opened: string[] = [];
      const next = async (make: (id: string) => Promise<unknown>) => {
        const id = randomUUID();
        await given.clock.advance(1);
        await make(id);
        opened.push(id);
      };
      const { store } = given;
      await next((id) => open(store, target(id)));
      await next((id) => chat(store, id, "hello"));
      await next((id) => open(store, target(id), { userState: null, publicKey: "0xaa" }));
      await next((id) => chat(store, id, "hello", { app: "defi" }));
      await next((id) => chat(store, id, "hello", { app: "games", publicKey: "0xbb" }));
      await next((id) => chat(store, id, "hello", { app: "defi", publicKey: "0xaa" }));
      await next((id) => chat(store, id, "hello"));
      return opened;
    }

    it("include every session of every App, with or without a wallet, newest first", async () => {
      const opened = await openAll();
      const seen = await given.store.admin.used({ app: null, after: null, limit: 100 });
      expect(ids(seen)).toEqual(opened.toReversed());
      const usedAt = given.clock.now();
      expect(seen[0]).toMatchObject({
        app: "default",
        title: "New Chat",
        usedAt,
        messageCount: 1,
        turnCount: 1,
      });
      expect(seen[1]).toMatchObject({ app: "defi", publicKey: "0xaa", model: MODEL, usedAt: usedAt - 1 });
      expect(seen.at(-1)).toMatchObject({ app: "default", turn: null, messageCount: 0, turnCount: 0 });
    });

    it("come in pages without gaps and duplicates", async () => {
      const opened = await openAll();
      const seen: string[] = [];
      let after: UsePlace | null = null;
      for (;;) {
        const page: readonly SeenSession[] = await given.store.admin.used({ app: null, after, limit: 2 });
        after = page.at(-1) ?? null;
        if (after === null) break;
        seen.push(...ids(page));
      }
      expect(seen).toEqual(opened.toReversed());
    });

    it("are ordered by age within a millisecond, also across pages", async () => {
      for (let count = 0; count < 4; count += 1) await chat(given.store, randomUUID(), "hello");
      const all = await given.store.admin.used({ app: null, after: null, limit: 4 });
      expect(all.map(({ key }) => key)).toEqual(all.map(({ key }) => key).toSorted((one, two) => two - one));
      const rest = await given.store.admin.used({ app: null, after: all[1] ?? null, limit: 4 });
      expect(ids(rest)).toEqual(ids(all.slice(2)));
    });

    it("include the newest of many Apps, even if an App has only a few", async () => {
      const { store, clock } = given;
      const opened: string[] = [];
      for (let count = 0; count < 60; count += 1) {
        await clock.advance(count % 3);
        const [id, app] = [randomUUID(), `app-${(count * count) % 23}`];
        await chat(store, id, "hello", { app, publicKey: count % 2 === 0 ? null : "0xaa" });
        opened.push(id);
      }
      const seen: string[] = [];
      let after: UsePlace | null = null;
      do {
        const page: readonly SeenSession[] = await store.admin.used({ app: null, after, limit: 20 });
        after = page.at(-1) ?? null;
        seen.push(...ids(page));
      } while (after !== null);
      expect(seen).toEqual(opened.toReversed());
    });

    it("can be filtered by App; a session without an App counts as one of the default App", async () => {
      const opened = await openAll();
      const of = async (app: string) => ids(await given.store.admin.used({ app, after: null, limit: 100 }));
      expect(await of("default")).toEqual([opened[6], opened[2], opened[1], opened[0]]);
      expect(await of("defi")).toEqual([opened[5], opened[3]]);
      expect(await of("games")).toEqual([opened[4]]);
      expect(await of("nobody")).toEqual([]);
    });

    it("are counted by App, up to a limit", async () => {
      await openAll();
      const counts = { default: 4, defi: 2, games: 1 };
      const named = Object.entries(counts).map(([app, sessions]) => ({ app, sessions }));
      expect(await given.store.admin.apps(100)).toEqual(named);
      expect(await given.store.admin.apps(1)).toEqual(named.map(({ app }) => ({ app, sessions: 1 })));
    });

    it("are empty in an empty store", async () => {
      expect(await given.store.admin.used({ app: null, after: null, limit: 10 })).toEqual([]);
      expect(await given.store.admin.apps(10)).toEqual([]);
    });
  });
}

function describeOpenSessions(openStore: OpenStore): void {
  describe("sessions with an open turn", () => {
    const given = givenStore(openStore, "all, without sessions");

    it("are listed youngest first, in pages, without other sessions", async () => {
      const { store } = given;
      const [ended, running, queued] = [randomUUID(), randomUUID(), randomUUID()];
      await complete(store, await startTurn(store, ended, "one"), "done");
      await startTurn(store, running, "two");
      await chat(store, running, "three");
      await chat(store, queued, "four");
      const all = await store.admin.open({ below: null, limit: 10 });
      expect(ids(all)).toEqual([queued, running]);
      expect(ids(await store.admin.open({ below: null, limit: 1 }))).toEqual([queued]);
      expect(ids(await store.admin.open({ below: all[0]!.key, limit: 10 }))).toEqual([running]);
      expect(await store.admin.open({ below: all[1]!.key, limit: 10 })).toEqual([]);
    });

    it("show the first open turn with its lease", async () => {
      const { store, clock } = given;
      const id = randomUUID();
      await complete(store, await startTurn(store, id, "one"), "done");
      await startTurn(store, id, "two", { claim: claimOf("somebody") });
      await chat(store, id, "three");
      const seen = await store.admin.find(id);
      expect(seen).toMatchObject({
        turnCount: 3,
        turn: { turn: { number: 2, state: "running" }, decideBy: null },
      });
      const at = clock.now();
      expect(seen!.turn!.lease).toEqual({ owner: "somebody", takenAt: at, expiresAt: at + LEASE_MS });
      expect((await store.admin.open({ below: null, limit: 10 }))[0]).toEqual(seen);
    });

    it("show when a pending action expires", async () => {
      const { store, clock } = given;
      const id = randomUUID();
      const turn = await startTurn(store, id, "one");
      const call = callOf("a", { phase: "asked" } as never);
      const asked = [askOf("a", { validMs: 1000 })];
      await store.execute({
        kind: "stepWithCalls",
        target: { turn: identityOf(turn) },
        input: { step: step(1, "May I?"), calls: [call], actions: asked },
      });
      await store.execute({ kind: "wait", target: { turn: identityOf(turn) }, input: null });
      const seen = await store.admin.find(id);
      expect(seen!.turn).toMatchObject({
        turn: { state: "waiting" },
        lease: null,
        decideBy: clock.now() + 1000,
      });
      expect(await store.admin.counts(10)).toMatchObject({ asking: 1, pendingActions: 1 });
    });

    it("are null for an unknown id", async () => {
      expect(await given.store.admin.find(randomUUID())).toBeNull();
    });
  });
}

function describeTurns(openStore: OpenStore): void {
  describe("turns of a session", () => {
    const given = givenStore(openStore, "all, without sessions");

    it("come newest first, in pages, each with its start and model", async () => {
      const { store, clock } = given;
      const id = randomUUID();
      const acceptedAt = clock.now();
      await chat(store, id, "one");
      await clock.advance(500);
      const models = { default: ["other/model"] };
      const [first] = await store.executeEach({
        kind: "claimTurns",
        owner: "owner",
        agentMessageIds: [randomUUID()],
        fullProviders: [],
        models,
      });
      const startedAt = clock.now();
      await clock.advance(2000);
      await complete(store, first!.outcome!, "done");
      await chat(store, id, "two");
      const turns = await store.admin.turns(id, null, 10);
      expect(turns!.map(({ turn }) => turn)).toMatchObject([
        { number: 2, state: "queued", model: null, startedAt: null },
        {
          number: 1,
          state: "complete",
          model: "other/model",
          enqueuedAt: acceptedAt,
          startedAt,
          endedAt: startedAt + 2000,
          ranMs: 2000,
        },
      ]);
      expect((await store.admin.turns(id, null, 1))!.map(({ turn }) => turn.number)).toEqual([2]);
      expect((await store.admin.turns(id, 2, 10))!.map(({ turn }) => turn.number)).toEqual([1]);
      expect(await store.admin.turns(randomUUID(), null, 10)).toBeNull();
    });

    it("keep their first start, and count all attempts", async () => {
      const { store, clock } = given;
      const id = randomUUID();
      const turn = await startTurn(store, id, "one", { claim: claimOf("first") });
      const startedAt = clock.now();
      await clock.advance(3000);
      await store.turns.handBack("first", [turn.epoch]);
      await clock.advance(60_000);
      const [again] = await store.executeEach({
        kind: "claimTurns",
        owner: "second",
        agentMessageIds: [randomUUID()],
        fullProviders: [],
        models: { default: [MODEL] },
      });
      await clock.advance(1000);
      await complete(store, again!.outcome!, "done");
      const [seen] = (await store.admin.turns(id, null, 1))!;
      expect(seen!.turn).toMatchObject({ startedAt, endedAt: startedAt + 64_000, ranMs: 4000 });
    });

    it("count the running time until an interrupt, and no time without an owner", async () => {
      const { store, clock } = given;
      const [running, queued] = [randomUUID(), randomUUID()];
      await startTurn(store, running, "one");
      await chat(store, queued, "one");
      await clock.advance(700);
      for (const id of [running, queued])
        await store.execute({ kind: "interrupt", target: target(id), input: { streamed: null } });
      const ranMs = async (id: string) => (await store.admin.turns(id, null, 1))![0]!.turn.ranMs;
      expect(await ranMs(running)).toBe(700);
      expect(await ranMs(queued)).toBe(0);
    });
  });
}

function describeEndedTurns(openStore: OpenStore): void {
  describe("ended turns", () => {
    const given = givenStore(openStore, "all, without sessions");

    it("are listed for the requested period with their usage, those that ended last first", async () => {
      const { store, clock } = given;
      const [one, two] = [randomUUID(), randomUUID()];
      const from = clock.now();
      const first = await startTurn(store, one, "one", { app: "defi" });
      await clock.advance(1000);
      const usage = { ...NO_USAGE, inputTokens: 20, outputTokens: 7 };
      await store.execute({
        kind: "complete",
        target: { turn: identityOf(first) },
        input: { step: step(1, "done", { usage }) },
      });
      await chat(store, two, "two");
      await clock.advance(1000);
      await store.execute({ kind: "interrupt", target: target(two), input: { streamed: null } });
      const third = await startTurn(store, two, "three");
      await clock.advance(1000);
      await store.execute({
        kind: "fail",
        target: { turn: identityOf(third) },
        input: { text: "", failure: { code: "model_timeout", message: "Too slow." } },
      });
      await startTurn(store, one, "four", { app: "defi" });
      const query = { from, to: clock.now() + 1, after: null, limit: 10 };
      const ended = await store.admin.ended(query);
      expect(ended).toMatchObject([
        { number: 2, app: "default", state: "failed", model: MODEL, hasAnswer: true, ranMs: 1000 },
        { number: 1, app: "default", state: "interrupted", model: null, hasAnswer: false, startedAt: null },
        { number: 1, app: "defi", state: "complete", inputTokens: 20, outputTokens: 7, endedAt: from + 1000 },
      ]);
      const endsOf = (turns: readonly EndedTurn[]) => turns.map(({ endedAt }) => endedAt - from);
      expect(endsOf(await store.admin.ended({ ...query, from: from + 2000 }))).toEqual([3000, 2000]);
      expect(endsOf(await store.admin.ended({ ...query, to: from + 2000 }))).toEqual([1000]);
    });

    it("are listed in pages even if they ended in the same millisecond", async () => {
      const { store, clock } = given;
      const started = await Promise.all([1, 2, 3, 4, 5].map(() => startTurn(store, randomUUID(), "hello")));
      for (const turn of started) await complete(store, turn, "done");
      const query = { from: 0, to: clock.now() + 1 };
      const all = await store.admin.ended({ ...query, after: null, limit: 10 });
      expect(all).toHaveLength(5);
      const first = await store.admin.ended({ ...query, after: null, limit: 3 });
      const rest = await store.admin.ended({ ...query, after: first.at(-1) ?? null, limit: 3 });
      expect([...first, ...rest]).toEqual(all);
    });
  });
}

function describeCounts(openStore: OpenStore): void {
  describe("counts", () => {
    const given = givenStore(openStore, "all, without sessions");

    it("contain the owners of valid leases with their numbers of turns", async () => {
      const { store, clock } = given;
      for (const owner of ["a", "b", "a"])
        await startTurn(store, randomUUID(), "x", { claim: claimOf(owner) });
      const none = { asking: 0, pendingActions: 0 };
      expect(await store.admin.counts(10)).toEqual({
        ...none,
        owners: [
          { owner: "a", running: 2 },
          { owner: "b", running: 1 },
        ],
      });
      await clock.advance(LEASE_MS);
      expect(await store.admin.counts(10)).toEqual({ ...none, owners: [] });
    });

    it("contain the store's time", async () => {
      await given.clock.advance(1234);
      expect(await given.store.admin.now()).toBe(given.clock.now());
    });
  });
}
