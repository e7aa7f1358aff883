import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { givenStore, type OpenStore } from "./testing/given-store.ts";
import {
  MODEL,
  NOTHING,
  allEvents,
  chat,
  chatInput,
  chatWith,
  complete,
  everything,
  existing,
  load,
  messagesOf,
  newLife,
  record,
  startTurn,
  target,
  types,
  touch,
} from "./testing/scenario.ts";

export function describeSessions(openStore: OpenStore): void {
  describe("sessions", () => {
    const given = givenStore(openStore, "all");
    const newId = () => randomUUID();

    it("drops values of a wrong type from the user state of an older version", async () => {
      const id = newId();
      const userState = { connection: true, evm: { address: "0xa", chain_id: [] }, theme: "dark" };
      await given.store.execute({ kind: "open", target: target(id), input: { userState, publicKey: null } });
      const read = await given.store.sessions.find(id);
      expect(read?.userState).toEqual({ evm: { address: "0xa" }, theme: "dark" });
    });

    it("runs a command with an App only on sessions that count as that App's", async () => {
      const id = newId();
      await chat(given.store, id, "hello", { app: "defi" });
      const before = await everything(given.store, id);
      expect(
        await given.store.execute({
          kind: "rename",
          target: { ...existing(id), apps: ["default"] },
          input: { title: "Mine" },
        }),
      ).toMatchObject({
        outcome: "other_app",
        events: [],
      });
      expect(
        await given.store.execute({
          kind: "delete",
          target: { ...existing(id), apps: ["default"] },
          input: null,
        }),
      ).toMatchObject({ outcome: "other_app" });
      expect(await given.store.sessions.messages(id, null, 10, ["default"])).toBe("other_app");
      const wallet = { userState: null, publicKey: "0xa" };
      const refused = [
        await given.store.execute({
          kind: "open",
          target: { ...existing(id), apps: ["default"] },
          input: wallet,
        }),
        await given.store.execute({
          kind: "interrupt",
          target: { ...existing(id), apps: ["default"] },
          input: { streamed: null },
        }),
        await given.store.execute({
          kind: "resolveAction",
          target: { ...existing(id), apps: ["default"] },
          input: { action: randomUUID(), decision: "deny", result: null },
        }),
      ];
      for (const answer of refused) expect(answer).toMatchObject({ created: false, events: [] });
      expect(refused.map((answer) => answer?.outcome)).toEqual(["other_app", "other_app", "other_app"]);
      expect(await everything(given.store, id)).toEqual(before);
      expect(await given.store.sessions.messages(id, null, 10, ["default", "defi"])).toHaveLength(1);
      expect(
        await given.store.execute({
          kind: "rename",
          target: { ...existing(id), apps: ["default", "defi"] },
          input: { title: "Mine" },
        }),
      ).toMatchObject({
        outcome: "ok",
      });
      expect(
        await given.store.execute({
          kind: "delete",
          target: { ...existing(id), apps: ["default", "defi"] },
          input: null,
        }),
      ).toMatchObject({ outcome: "ok", session: { life: before.session.life } });
      expect(
        await given.store.execute({
          kind: "delete",
          target: { ...existing(id), apps: ["default", "defi"] },
          input: null,
        }),
      ).toBeNull();
      const nobodys = newId();
      await given.store.execute({ kind: "open", target: target(nobodys), input: NOTHING });
      expect(
        await given.store.execute({
          kind: "rename",
          target: { ...existing(nobodys), apps: ["defi"] },
          input: { title: "Mine" },
        }),
      ).toMatchObject({
        outcome: "other_app",
      });
      expect(
        await given.store.execute({
          kind: "rename",
          target: { ...existing(nobodys), apps: ["default"] },
          input: { title: "Mine" },
        }),
      ).toMatchObject({
        outcome: "ok",
      });
    });

    it("returns no data of a session to a caller with another App, also when loading was requested", async () => {
      const id = newId();
      await chat(given.store, id, "a secret", { app: "defi" });
      const wallet = { userState: null, publicKey: "0xa" };
      for (const asked of [target(id, true), existing(id, true)]) {
        const refused = [
          await given.store.execute({
            kind: "open",
            target: { ...asked, apps: ["default"] },
            input: NOTHING,
          }),
          await given.store.execute({ kind: "open", target: { ...asked, apps: ["default"] }, input: wallet }),
          await given.store.execute({
            kind: "interrupt",
            target: { ...asked, apps: ["default"] },
            input: { streamed: null },
          }),
        ];
        for (const answer of refused) expect(answer).toMatchObject({ outcome: "other_app", loaded: null });
        const mismatched = [
          await given.store.execute({
            kind: "setModel",
            target: asked,
            input: { app: "default", rig: "demo/assistant", utilityModel: null },
          }),
          await chatWith(given.store, asked, chatInput("me too")),
        ];
        for (const answer of mismatched) expect(answer).toMatchObject({ events: [], loaded: null });
        expect(mismatched.map((answer) => answer?.outcome)).toEqual([
          "app_mismatch",
          { kind: "rejected", reason: "app_mismatch" },
        ]);
      }
    });

    it("returns the current session with every other rejection", async () => {
      const id = newId();
      await given.store.execute({
        kind: "open",
        target: target(id),
        input: { userState: null, publicKey: "0xa" },
      });
      const before = await load(given.store, id);
      const other = { userState: null, publicKey: "0xb" };
      const refused = await given.store.execute({ kind: "open", target: target(id, true), input: other });
      expect(refused).toMatchObject({ outcome: "wallet_mismatch", loaded: before });
    });

    it("creates a session with the given initial fields", async () => {
      const id = newId();
      const life = newLife();
      const committed = await given.store.execute({
        kind: "open",
        target: { session: id, birth: { life, model: "local/one" }, load: true },
        input: NOTHING,
      });
      expect(committed).toMatchObject({ outcome: "ok", created: true, events: [] });
      expect(committed?.session).toMatchObject({
        id,
        spelling: id,
        life,
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
      const id = newId();
      const first = await given.store.execute({ kind: "open", target: target(id), input: NOTHING });
      const second = await given.store.execute({ kind: "open", target: target(id), input: NOTHING });
      expect(second).toEqual({ ...first, created: false });
    });

    it("creates nothing if the session must exist", async () => {
      const id = newId();
      expect(
        await given.store.execute({ kind: "open", target: existing(id, true), input: NOTHING }),
      ).toBeNull();
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
      expect(
        await given.store.execute({ kind: "rename", target: existing(id), input: { title: "Title" } }),
      ).toBeNull();
      expect(await given.store.execute({ kind: "delete", target: existing(id), input: null })).toBeNull();
      expect(await given.store.sessions.find(id)).toBeNull();
    });

    it("returns the loaded session only on request", async () => {
      const id = newId();
      expect(
        (await given.store.execute({ kind: "open", target: target(id), input: NOTHING }))?.loaded,
      ).toBeNull();
      expect(
        (await given.store.execute({ kind: "open", target: target(id, true), input: NOTHING }))?.loaded,
      ).not.toBeNull();
    });

    it("merges user state and announces it once", async () => {
      const id = newId();
      await given.store.execute({
        kind: "open",
        target: target(id),
        input: { userState: { evm: { chain_id: 1 } }, publicKey: null },
      });
      const merged = { userState: { evm: { address: "0xa" } }, publicKey: null };
      const committed = await given.store.execute({ kind: "open", target: target(id), input: merged });
      expect(committed?.session.userState).toEqual({ evm: { chain_id: 1, address: "0xa" } });
      expect(types(committed?.events ?? [])).toEqual(["state_changed"]);
      expect(
        (await given.store.execute({ kind: "open", target: target(id), input: merged }))?.events,
      ).toEqual([]);
      expect((await load(given.store, id)).session.userState).toEqual({
        evm: { chain_id: 1, address: "0xa" },
      });
    });

    it("keeps keys of user state that are special in JavaScript", async () => {
      const id = newId();
      const userState = JSON.parse('{"__proto__": {"a": 1}, "constructor": null}');
      await given.store.execute({ kind: "open", target: target(id), input: { userState, publicKey: null } });
      expect(JSON.stringify((await record(given.store, id)).userState)).toBe(JSON.stringify(userState));
    });

    it("rejects user state that is too large, and then creates nothing", async () => {
      const id = newId();
      const tooLarge = { userState: { note: "x".repeat(9000) }, publicKey: null };
      const committed = await given.store.execute({ kind: "open", target: target(id), input: tooLarge });
      expect(committed).toMatchObject({ outcome: "user_state_too_large", created: false, events: [] });
      expect(await given.store.sessions.find(id)).toBeNull();
    });

    it("binds the first wallet, and rejects another one without a change", async () => {
      const id = newId();
      await given.store.execute({
        kind: "open",
        target: target(id),
        input: { userState: null, publicKey: "0xa" },
      });
      const before = await everything(given.store, id);
      const other = { userState: { a: 1 }, publicKey: "0xb" };
      expect((await given.store.execute({ kind: "open", target: target(id), input: other }))?.outcome).toBe(
        "wallet_mismatch",
      );
      expect(await everything(given.store, id)).toEqual(before);
      const same = { userState: null, publicKey: "0xa" };
      expect((await given.store.execute({ kind: "open", target: target(id), input: same }))?.outcome).toBe(
        "ok",
      );
    });

    it("renames and announces it; the same title again announces nothing", async () => {
      const id = newId();
      await given.store.execute({ kind: "open", target: target(id), input: NOTHING });
      const renamed = await given.store.execute({
        kind: "rename",
        target: existing(id),
        input: { title: "Mine" },
      });
      expect(renamed?.session).toMatchObject({ title: "Mine", titleSource: "user" });
      expect(renamed?.events).toEqual([{ number: 1, event: { type: "title_changed", new_title: "Mine" } }]);
      expect(
        (await given.store.execute({ kind: "rename", target: existing(id), input: { title: "Mine" } }))
          ?.events,
      ).toEqual([]);
    });

    it("keeps the creator's spelling of its id, and is found in lower case only", async () => {
      const id = newId();
      const spelling = id.toUpperCase();
      const birth = { life: newLife(), model: "a/b", spelling };
      const first = await given.store.execute({
        kind: "open",
        target: { session: id, birth, load: true },
        input: { ...NOTHING, publicKey: "0xs" },
      });
      expect(first?.loaded?.session).toMatchObject({ id, spelling });
      const later = { ...birth, spelling: id };
      await given.store.execute({
        kind: "open",
        target: { session: id, birth: later, load: false },
        input: NOTHING,
      });
      expect(await given.store.sessions.find(id)).toMatchObject({ id, spelling });
      expect(await given.store.sessions.find(spelling)).toBeNull();
      expect(await given.store.admin.find(id)).toMatchObject({ id, spelling });
      const list = { publicKey: "0xs", apps: ["default"], limit: 10, after: null };
      expect(await given.store.sessions.list(list)).toMatchObject([{ id, spelling }]);
      expect(await given.store.execute({ kind: "delete", target: existing(id), input: null })).toMatchObject({
        session: { life: birth.life, spelling },
      });
    });

    it("sets the model, creates the session for it, and reports that", async () => {
      const id = newId();
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

    it("rejects a model of another App without a change", async () => {
      const id = newId();
      await chat(given.store, id, "hello");
      const before = await everything(given.store, id);
      const choice = { app: "defi", rig: "local/one", utilityModel: null };
      expect(
        (await given.store.execute({ kind: "setModel", target: target(id), input: choice }))?.outcome,
      ).toBe("app_mismatch");
      expect(await everything(given.store, id)).toEqual(before);
    });

    it("ends a page of messages by number or by bytes, after at least one", async () => {
      const id = newId();
      for (const text of ["one", "é".repeat(40_000), "three", "four"]) await chat(given.store, id, text);
      const all = (await load(given.store, id)).messages;
      const end = async (after: string | null, limit: number, bytes: number) => {
        const page = await given.store.sessions.messagePage(id, after, { limit, bytes });
        if (page === null || page === "other_app") throw new Error("There is no such page");
        return [all.findIndex((message) => message.id === page.last), page.hasMore];
      };
      expect(await end(null, 10, 1_000_000)).toEqual([3, false]);
      expect(await end(null, 4, 1_000_000)).toEqual([3, false]);
      expect(await end(null, 3, 1_000_000)).toEqual([2, true]);
      expect(await end(null, 10, 80_003)).toEqual([1, true]);
      expect(await end(null, 10, 80_004)).toEqual([2, true]);
      expect(await end(null, 10, 1)).toEqual([0, true]);
      expect(await end(all[0]!.id, 10, 1)).toEqual([1, true]);
      expect(await end(all[3]!.id, 10, 1)).toEqual([-1, false]);
      expect((await messagesOf(given.store, id)).map(({ position }) => position)).toEqual([1, 2]);
      const { sessions } = given.store;
      const any = { limit: 1, bytes: 1 };
      expect(await sessions.messagePage(newId(), null, any)).toBeNull();
      expect(await sessions.messagePage(id, newId(), any)).toBeNull();
      expect(await sessions.messagePage(id, null, any, ["defi"])).toBe("other_app");
    });

    it("returns pages of messages, and null for an unknown session or message", async () => {
      const [id, other] = [newId(), newId()];
      for (const text of ["one", "two", "three"]) await chat(given.store, id, text);
      await chat(given.store, other, "elsewhere");
      const all = await messagesOf(given.store, id);
      expect(all.map(({ content }) => content)).toEqual(["one", "two", "three"]);
      const page = await messagesOf(given.store, id, all[0]?.id, 1);
      expect(page.map(({ content }) => content)).toEqual(["two"]);
      expect(await given.store.sessions.messages(id, all[2]?.id ?? "", 10)).toEqual([]);
      const elsewhere = await messagesOf(given.store, other);
      expect(await given.store.sessions.messages(id, elsewhere[0]?.id ?? "", 10)).toBeNull();
      expect(await given.store.sessions.messages(newId(), null, 10)).toBeNull();
    });

    it("returns how long a session is unused, with the session and with its page of messages", async () => {
      const { clock, store } = given;
      const [id, spelling] = [newId(), newId().toUpperCase()];
      const use = async () => {
        const page = await store.sessions.messagePage(id, null, { limit: 1, bytes: 1 });
        if (page === null || page === "other_app") throw new Error("There is no such page");
        const found = (await store.sessions.find(id))!;
        expect(found).toMatchObject(page.session);
        return page.session;
      };
      const birth = { ...target(id).birth, spelling };
      await store.execute({ kind: "open", target: { ...target(id), birth }, input: NOTHING });
      const { life } = await record(store, id);
      expect(await use()).toEqual({ id, life, spelling, unusedMs: 0 });
      await clock.advance(7_000);
      expect(await use()).toMatchObject({ unusedMs: 7_000 });
      await touch(store, [{ id, life }]);
      expect(await use()).toMatchObject({ unusedMs: 0 });
    });

    it("reports which incarnations of used sessions no longer exist", async () => {
      const [id, removed, never] = [newId(), newId(), newId()];
      await given.store.execute({ kind: "open", target: target(id), input: NOTHING });
      await given.store.execute({ kind: "open", target: target(removed), input: NOTHING });
      const { life } = await record(given.store, id);
      const old = await record(given.store, removed);
      await given.store.execute({ kind: "delete", target: existing(removed), input: null });
      await given.store.execute({ kind: "open", target: target(removed), input: NOTHING });
      const gone = await touch(given.store, [
        { id, life },
        { id: removed, life: old.life },
        { id: never, life: "none" },
      ]);
      expect(gone).toEqual([removed, never]);
    });
  });

  describe("a deleted session", () => {
    const given = givenStore(openStore, "all");

    it("leaves nothing behind, and its incarnation is returned once", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "hello");
      expect(await given.store.execute({ kind: "delete", target: existing(id), input: null })).toMatchObject({
        session: { life: turn.life },
      });
      expect(await given.store.execute({ kind: "delete", target: existing(id), input: null })).toBeNull();
      expect(await given.store.sessions.find(id)).toBeNull();
      expect(await given.store.sessions.messages(id, null, 10)).toBeNull();
      expect(await given.store.events.after(id, 0, 10)).toBeNull();
    });

    it("leaves nothing to the next incarnation of its id", async () => {
      const id = randomUUID();
      const idempotency = { key: "k", digest: "d" };
      const old = await startTurn(given.store, id, "old", { idempotency });
      await given.store.execute({
        kind: "checkpoint",
        target: { turn: old },
        input: { offset: 0, text: "old text" },
      });
      await given.store.execute({ kind: "delete", target: existing(id), input: null });
      const opened = await given.store.execute({ kind: "open", target: target(id, true), input: NOTHING });
      expect(opened).toMatchObject({ created: true, session: { head: 0, model: MODEL } });
      expect(opened?.session.key).not.toBe(old.sessionKey);
      expect(opened?.session.life).not.toBe(old.life);
      expect(opened?.loaded).toMatchObject({ messages: [], systemEvents: [], checkpointed: "" });
      const turn = await startTurn(given.store, id, "new", { idempotency });
      expect(turn).toMatchObject({ turn: 1, attempt: 1, stepsDone: 0 });
      expect((await allEvents(given.store, id)).map(({ number }) => number)).toEqual([1, 2, 3]);
      await complete(given.store, turn, "new answer");
      expect((await load(given.store, id)).messages.map(({ content }) => content)).toEqual([
        "new",
        "new answer",
      ]);
    });

    it("never gives its key to another session", async () => {
      const keys = new Set<number>();
      for (let life = 0; life < 5; life += 1) {
        const id = randomUUID();
        const opened = await given.store.execute({ kind: "open", target: target(id), input: NOTHING });
        keys.add(opened?.session.key ?? 0);
        await given.store.execute({ kind: "delete", target: existing(id), input: null });
      }
      expect(keys.size).toBe(5);
    });
  });
}
