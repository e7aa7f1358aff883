import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  NOTHING,
  newIncarnation,
  target,
  existing,
  open,
  rename,
  remove,
  touch,
  load,
  record,
  types,
  accessTo,
} from "./fixtures/scenario.ts";

export function describeSessions(openStore: OpenStore): void {
  describe("sessions", () => {
    const given = givenStore(openStore, "all");

    it("returns the current session with a rejection within its own App", async () => {
      const id = randomUUID();
      await open(given.store, target(id), { userState: null, publicKey: "0xa" });
      const before = await load(given.store, id);
      const other = { userState: null, publicKey: "0xb" };
      const refused = await open(given.store, target(id, true), other);
      expect(refused).toMatchObject({ outcome: "wallet_mismatch", loaded: before });
    });

    it("creates a session with the given initial fields", async () => {
      const id = randomUUID();
      const incarnation = newIncarnation();
      const committed = await open(given.store, {
        session: id,
        birth: { incarnation, model: "local/one" },
        load: true,
        access: null,
      });
      expect(committed).toMatchObject({ outcome: "ok", created: true, events: [] });
      expect(committed?.session).toMatchObject({
        id,
        spelling: id,
        incarnation,
        app: null,
        title: "New Chat",
        titleSource: "placeholder",
        status: "idle",
        model: "local/one",
        modelChosen: false,
        modelApp: null,
        utilityModel: null,
        publicKey: null,
        userState: null,
        head: 0,
        messageCount: 0,
        turnCount: 0,
        createdAt: given.clock.now(),
        updatedAt: given.clock.now(),
      });
      expect(committed?.loaded).toEqual({
        session: committed?.session,
        messages: [],
        systemEvents: [],
        pendingActions: [],
        checkpointed: "",
      });
    });

    it("opens an existing session unchanged, whatever initial fields are given", async () => {
      const id = randomUUID();
      const first = await open(given.store, target(id));
      const second = await open(given.store, target(id));
      expect(second).toEqual({ ...first, created: false });
    });

    it("returns null and creates no session if the target must exist", async () => {
      const id = randomUUID();
      expect(await open(given.store, existing(id, true))).toBeNull();
      expect(
        await given.store.execute({
          kind: "setModel",
          target: existing(id),
          input: { app: "default", rig: "a/b", utilityModel: null },
        }),
      ).toBeNull();
      expect(
        await given.store.execute({ kind: "interrupt", target: existing(id), input: { streamed: null } }),
      ).toBeNull();
      expect(await rename(given.store, existing(id), "Title")).toBeNull();
      expect(await remove(given.store, existing(id))).toBeNull();
      expect(await given.store.sessions.find(id)).toBeNull();
    });

    it("returns the loaded session only on request", async () => {
      const id = randomUUID();
      expect((await open(given.store, target(id)))?.loaded).toBeNull();
      expect((await open(given.store, target(id, true)))?.loaded).not.toBeNull();
    });

    it("publishes a new title once", async () => {
      const id = randomUUID();
      await open(given.store, target(id));
      const renamed = await rename(given.store, existing(id), "Mine");
      expect(renamed?.session).toMatchObject({ title: "Mine", titleSource: "user" });
      expect(renamed?.events).toEqual([{ number: 1, event: { type: "title_changed", new_title: "Mine" } }]);
      expect((await rename(given.store, existing(id), "Mine"))?.events).toEqual([]);
    });

    it("keeps the creator's spelling of its id, and is found in lower case only", async () => {
      const id = randomUUID();
      const spelling = id.toUpperCase();
      const birth = { incarnation: newIncarnation(), model: "a/b", spelling };
      const first = await open(
        given.store,
        { session: id, birth, load: true, access: null },
        { ...NOTHING, publicKey: "0xs" },
      );
      expect(first?.loaded?.session).toMatchObject({ id, spelling });
      const later = { ...birth, spelling: id };
      await open(given.store, { session: id, birth: later, load: false, access: null });
      expect(await given.store.sessions.find(id)).toMatchObject({ id, spelling });
      expect(await given.store.sessions.find(spelling)).toBeNull();
      expect(await given.store.admin.find(id)).toMatchObject({ id, spelling });
      const list = { publicKey: "0xs", access: accessTo("default"), limit: 10, after: null };
      expect(await given.store.sessions.list(list)).toMatchObject([{ id, spelling }]);
      expect(await remove(given.store, existing(id))).toMatchObject({
        session: { incarnation: birth.incarnation, spelling },
      });
    });

    it("creates a session for the choice of a model, and publishes each model once", async () => {
      const id = randomUUID();
      const choice = { app: "defi", rig: "local/one", utilityModel: "local/two" };
      const first = await given.store.execute({ kind: "setModel", target: target(id), input: choice });
      expect(first).toMatchObject({
        outcome: "ok",
        created: true,
        session: {
          app: null,
          modelApp: "defi",
          model: "local/one",
          modelChosen: true,
          utilityModel: "local/two",
        },
      });
      expect(await given.store.sessions.find(id)).toMatchObject(first!.session);
      expect(types(first?.events ?? [])).toEqual(["state_changed"]);
      const second = await given.store.execute({
        kind: "setModel",
        target: target(id),
        input: { ...choice, utilityModel: null },
      });
      expect(second).toMatchObject({ created: false, events: [], session: { utilityModel: "local/two" } });
    });

    it("returns how long a session has been unused, together with the session or its messages", async () => {
      const { clock, store } = given;
      const [id, spelling] = [randomUUID(), randomUUID().toUpperCase()];
      const use = async () => {
        const page = await store.sessions.messagePage(id, null, { limit: 1, bytes: 1 }, null);
        if (page === null || typeof page === "string") throw new Error("There is no such page");
        const found = (await store.sessions.find(id))!;
        expect(found).toMatchObject(page.session);
        return page.session;
      };
      const birth = { ...target(id).birth, spelling };
      await open(store, { ...target(id), birth });
      const { incarnation } = await record(store, id);
      expect(await use()).toEqual({ id, incarnation, spelling, unusedMs: 0 });
      await clock.advance(7_000);
      expect(await use()).toMatchObject({ unusedMs: 7_000 });
      await touch(store, [{ id, incarnation }]);
      expect(await use()).toMatchObject({ unusedMs: 0 });
    });
  });
}
