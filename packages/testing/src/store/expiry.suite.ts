import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type Given, type OpenStore } from "./fixtures/given-store.ts";
import {
  target,
  existing,
  open,
  rename,
  touch,
  chatInput,
  chat,
  chatWith,
  bindTo,
  startTurn,
  complete,
  record,
} from "./fixtures/scenario.ts";

const HOUR = 60 * 60 * 1000;

export function describeExpiry(openStore: OpenStore): void {
  describe("expiry", () => {
    const given = givenStore(openStore, "all, without sessions");

    const expire = async (
      overrides: { emptyBefore?: number; unboundBefore?: number; limit?: number } = {},
    ) => {
      const ended = await given.store.sessions.expire({
        emptyBefore: 0,
        unboundBefore: 0,
        limit: 100,
        ...overrides,
      });
      return ended.map(({ id }) => id);
    };

    it("removes empty sessions that were not used since then, and returns the ended incarnations", async () => {
      const id = randomUUID();
      const opened = await open(given.store, target(id));
      expect(await expire({ emptyBefore: given.clock.now() })).toEqual([]);
      const ended = await given.store.sessions.expire({
        emptyBefore: given.clock.now() + 1,
        unboundBefore: 0,
        limit: 10,
      });
      expect(ended).toEqual([{ id, incarnation: opened?.session.incarnation }]);
      expect(await given.store.sessions.find(id)).toBeNull();
      expect(await expire({ emptyBefore: given.clock.now() + 1 })).toEqual([]);
    });

    it.each<[string, (given: Given, id: string) => Promise<unknown>]>([
      ["a title", ({ store }, id) => rename(store, existing(id), "Mine")],
      [
        "a model",
        ({ store }, id) =>
          store.execute({
            kind: "setModel",
            target: target(id),
            input: { app: "default", rig: "a/b", utilityModel: null },
          }),
      ],
      ["a message", async ({ store }, id) => complete(store, await startTurn(store, id, "hello"), "hi")],
    ])("removes a session with %s only after a long time without use", async (_what, fill) => {
      const id = randomUUID();
      await open(given.store, target(id));
      await fill(given, id);
      const later = given.clock.now() + 1;
      expect(await expire({ emptyBefore: later })).toEqual([]);
      expect(await expire({ unboundBefore: later })).toEqual([id]);
    });

    it("removes an empty session even after a long time without use", async () => {
      const id = randomUUID();
      await open(given.store, target(id));
      expect(await expire({ unboundBefore: given.clock.now() + 1 })).toEqual([id]);
    });

    it("uses the expiry of each App, and the default App's for sessions without an App", async () => {
      const ids: Record<string, string> = {};
      for (const app of ["default", "brief", "gone", "long"]) {
        ids[app] = randomUUID();
        await bindTo(given.store, ids[app], app);
      }
      const later = given.clock.now() + 1;
      const names = async (input: Parameters<typeof given.store.sessions.expire>[0]) => {
        const ended = await given.store.sessions.expire(input);
        return ended.map(({ id }) => Object.keys(ids).find((app) => ids[app] === id));
      };
      const never = { emptyBefore: 0, unboundBefore: 0 };
      const now = { emptyBefore: 0, unboundBefore: later };
      expect(await names({ ...never, byApp: { brief: now, long: never }, limit: 10 })).toEqual(["brief"]);
      expect(await names({ ...now, byApp: { brief: never, long: never }, limit: 1 })).toEqual(["default"]);
      expect(await names({ ...now, byApp: { brief: never, long: never }, limit: 10 })).toEqual(["gone"]);
      expect(await names({ ...now, limit: 10 })).toEqual(["long"]);
    });

    it("removes an empty session with a wallet like other empty sessions", async () => {
      const id = randomUUID();
      await open(given.store, target(id), { userState: null, publicKey: "0xa" });
      expect(await expire({ emptyBefore: given.clock.now() })).toEqual([]);
      expect(await expire({ emptyBefore: given.clock.now() + 1 })).toEqual([id]);
    });

    it("never removes a session with a message and a wallet", async () => {
      const id = randomUUID();
      await open(given.store, target(id), { userState: null, publicKey: "0xa" });
      await complete(given.store, await startTurn(given.store, id, "hello"), "hi");
      const later = given.clock.now() + 1;
      expect(await expire({ emptyBefore: later, unboundBefore: later })).toEqual([]);
    });

    it("removes sessions with a wallet or an owner only in Apps with a retention, also without an App", async () => {
      const ids: Record<string, string> = {};
      for (const app of ["default", "brief", "long", "none"]) {
        const id = (ids[app] = randomUUID());
        if (app === "none")
          await open(given.store, {
            ...target(id),
            access: { apps: null, user: { owner: "o", apps: [], takesNew: true } },
          });
        else await open(given.store, target(id), { userState: null, publicKey: "0xa" });
        if (app === "none") await rename(given.store, existing(id), "Mine");
        else await bindTo(given.store, id, app);
      }
      const later = given.clock.now() + 1;
      const names = async (input: Partial<Parameters<typeof given.store.sessions.expire>[0]>) => {
        const ended = await given.store.sessions.expire({
          emptyBefore: 0,
          unboundBefore: 0,
          limit: 10,
          ...input,
        });
        return ended.map(({ id }) => Object.keys(ids).find((app) => ids[app] === id));
      };
      const bound = { emptyBefore: 0, unboundBefore: 0, boundBefore: later };
      expect(await names({ unboundBefore: later, boundBefore: given.clock.now() })).toEqual([]);
      expect(await names({ byApp: { brief: bound, long: { ...bound, boundBefore: null } } })).toEqual([
        "brief",
      ]);
      expect(new Set(await names({ boundBefore: later }))).toEqual(new Set(["default", "none"]));
      expect(await names({ byApp: { long: bound } })).toEqual(["long"]);
    });

    it("never removes a session with a running or waiting turn", async () => {
      await startTurn(given.store, randomUUID(), "runs");
      await chat(given.store, randomUUID(), "waits");
      const later = given.clock.now() + 1;
      expect(await expire({ emptyBefore: later, unboundBefore: later })).toEqual([]);
    });

    it("removes up to a batch of sessions, the longest unused first", async () => {
      const ids: string[] = [];
      for (let index = 0; index < 5; index += 1) {
        ids.push(randomUUID());
        await open(given.store, target(ids[index]!));
        await given.clock.advance(1);
      }
      const later = given.clock.now();
      expect(await expire({ emptyBefore: later, limit: 2 })).toEqual(ids.slice(0, 2));
      expect(await expire({ emptyBefore: later - 1, limit: 10 })).toEqual(ids.slice(2, 4));
    });

    it.each<[string, (given: Given, id: string) => Promise<unknown>]>([
      ["opened", ({ store }, id) => open(store, target(id))],
      [
        "opened for its state",
        ({ store }, id) => open(store, target(id, true), { userState: { a: 1 }, publicKey: null }),
      ],
      [
        "told a model",
        ({ store }, id) =>
          store.execute({
            kind: "setModel",
            target: target(id),
            input: { app: "default", rig: "a/b", utilityModel: null },
          }),
      ],
      [
        "interrupted",
        ({ store }, id) =>
          store.execute({ kind: "interrupt", target: target(id), input: { streamed: null } }),
      ],
      ["chatted with", async ({ store }, id) => complete(store, await startTurn(store, id, "hello"), "hi")],
      [
        "touched",
        async ({ store }, id) => touch(store, [{ id, incarnation: (await record(store, id)).incarnation }]),
      ],
    ])("does not remove a session that was %s in the meantime", async (_how, use) => {
      const id = randomUUID();
      await open(given.store, target(id));
      await given.clock.advance(HOUR);
      const now = given.clock.now();
      await use(given, id);
      expect(await expire({ emptyBefore: now, unboundBefore: now })).toEqual([]);
      expect(await expire({ emptyBefore: now + 1, unboundBefore: now + 1 })).toEqual([id]);
    });

    it("is not delayed by a rejected chat", async () => {
      const id = randomUUID();
      await bindTo(given.store, id, "defi");
      await given.clock.advance(HOUR);
      const rejected = await chatWith(given.store, target(id), chatInput("hello"));
      expect(rejected.outcome).toEqual({ kind: "rejected", reason: "app_mismatch" });
      expect(await expire({ unboundBefore: given.clock.now() })).toEqual([id]);
    });

    it("allows a new incarnation of the id", async () => {
      const id = randomUUID();
      const first = await open(given.store, target(id));
      await expire({ emptyBefore: given.clock.now() + 1 });
      const second = await open(given.store, target(id));
      expect(second?.created).toBe(true);
      expect(second?.session.key).not.toBe(first?.session.key);
    });
  });
}
