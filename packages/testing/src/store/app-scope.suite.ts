import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  target,
  existing,
  open,
  rename,
  remove,
  DENY,
  decide,
  chatInput,
  chat,
  chatWith,
  everything,
  accessTo,
} from "./fixtures/scenario.ts";

export function describeAppScope(openStore: OpenStore): void {
  describe("a session of another App", () => {
    const given = givenStore(openStore, "all");

    it("rejects every command that names only other Apps", async () => {
      const id = randomUUID();
      await chat(given.store, id, "hello", { app: "defi" });
      const before = await everything(given.store, id);
      expect(
        await rename(given.store, { ...existing(id), access: accessTo("default") }, "Mine"),
      ).toMatchObject({
        outcome: "other_app",
        events: [],
      });
      expect(await remove(given.store, { ...existing(id), access: accessTo("default") })).toMatchObject({
        outcome: "other_app",
      });
      expect(await given.store.sessions.messages(id, null, 10, accessTo("default"))).toBe("other_app");
      const wallet = { userState: null, publicKey: "0xa" };
      const refused = [
        await open(given.store, { ...existing(id), access: accessTo("default") }, wallet),
        await given.store.execute({
          kind: "interrupt",
          target: { ...existing(id), access: accessTo("default") },
          input: { streamed: null },
        }),
        await decide(given.store, { ...existing(id), access: accessTo("default") }, randomUUID(), DENY),
      ];
      for (const answer of refused) expect(answer).toMatchObject({ created: false, events: [] });
      expect(refused.map((answer) => answer?.outcome)).toEqual(["other_app", "other_app", "other_app"]);
      expect(await everything(given.store, id)).toEqual(before);
      expect(await given.store.sessions.messages(id, null, 10, accessTo("default", "defi"))).toHaveLength(1);
      expect(
        await rename(given.store, { ...existing(id), access: accessTo("default", "defi") }, "Mine"),
      ).toMatchObject({
        outcome: "ok",
      });
      expect(
        await remove(given.store, { ...existing(id), access: accessTo("default", "defi") }),
      ).toMatchObject({
        outcome: "ok",
        session: { incarnation: before.session.incarnation },
      });
      expect(await remove(given.store, { ...existing(id), access: accessTo("default", "defi") })).toBeNull();
      const nobodys = randomUUID();
      await open(given.store, target(nobodys));
      expect(
        await rename(given.store, { ...existing(nobodys), access: accessTo("defi") }, "Mine"),
      ).toMatchObject({
        outcome: "other_app",
      });
      expect(
        await rename(given.store, { ...existing(nobodys), access: accessTo("default") }, "Mine"),
      ).toMatchObject({
        outcome: "ok",
      });
    });

    it("returns no data with a rejection, even if loading was requested", async () => {
      const id = randomUUID();
      await chat(given.store, id, "a secret", { app: "defi" });
      const wallet = { userState: null, publicKey: "0xa" };
      for (const asked of [target(id, true), existing(id, true)]) {
        const refused = [
          await open(given.store, { ...asked, access: accessTo("default") }),
          await open(given.store, { ...asked, access: accessTo("default") }, wallet),
          await given.store.execute({
            kind: "interrupt",
            target: { ...asked, access: accessTo("default") },
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

    it("rejects a model of another App, and changes nothing", async () => {
      const id = randomUUID();
      await chat(given.store, id, "hello");
      const before = await everything(given.store, id);
      const choice = { app: "defi", rig: "local/one", utilityModel: null };
      expect(
        (await given.store.execute({ kind: "setModel", target: target(id), input: choice }))?.outcome,
      ).toBe("app_mismatch");
      expect(await everything(given.store, id)).toEqual(before);
    });
  });
}
