import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import type { EditInput } from "@colloquy/engine/internal/core/commands/edit";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import type { ThreadQuery } from "@colloquy/engine/internal/core/ports/driven/session-store";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import { target, existing, open, remove, chat, record, accessTo } from "./fixtures/scenario.ts";

export function describeLists(openStore: OpenStore): void {
  describe("lists of a wallet's sessions", () => {
    const given = givenStore(openStore, "all");
    const access = accessTo("default");

    /** Creates sessions of a wallet, one millisecond apart. */
    async function openMany(publicKey: string, count: number): Promise<string[]> {
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1) {
        const id = randomUUID();
        await given.clock.advance(1);
        await open(given.store, target(id), { userState: null, publicKey });
        ids.push(id);
      }
      return ids;
    }

    const ids = (sessions: readonly { readonly id: string }[]) => sessions.map(({ id }) => id);

    it("have the newest activity first, and only sessions of the wallet", async () => {
      const wallet = randomUUID();
      const opened = await openMany(wallet, 3);
      await openMany(randomUUID(), 1);
      await given.clock.advance(1);
      await chat(given.store, opened[0]!, "hello");
      const listed = await given.store.sessions.list({ publicKey: wallet, access, limit: 10, after: null });
      expect(ids(listed)).toEqual([opened[0], opened[2], opened[1]]);
      expect(listed[0]).toEqual(await record(given.store, opened[0]!));
    });

    it("contain only sessions of the given Apps; a session without an App counts as one of the default App", async () => {
      const wallet = randomUUID();
      const [none] = await openMany(wallet, 1);
      const other = randomUUID();
      await chat(given.store, other, "hello", { app: "defi", publicKey: wallet });
      const list = async (of: string[]) =>
        ids(
          await given.store.sessions.list({
            publicKey: wallet,
            access: accessTo(...of),
            limit: 10,
            after: null,
          }),
        );
      expect(await list(["default"])).toEqual([none]);
      expect(await list(["defi"])).toEqual([other]);
      expect(new Set(await list(["default", "defi"]))).toEqual(new Set([none, other]));
      expect(await list([])).toEqual([]);
    });

    it("return all ids at once, and sessions are then read in their current state", async () => {
      const wallet = randomUUID();
      const opened = await openMany(wallet, 4);
      const defi = randomUUID();
      await given.clock.advance(1);
      await chat(given.store, defi, "hello", { app: "defi", publicKey: wallet });
      const { sessions } = given.store;
      const query = { publicKey: wallet, access, after: null };
      const keys = await sessions.listKeys(query);
      const read = async (of: string[]) => ids(await sessions.byKeys(keys, accessTo(...of)));
      expect(await read(["default"])).toEqual(opened.toReversed());
      const last = await record(given.store, opened[2]!);
      expect(await sessions.listKeys({ ...query, after: last })).toEqual(keys.slice(2));
      expect(await sessions.listKeys({ ...query, access: accessTo("default", "defi") })).toHaveLength(5);
      await remove(given.store, existing(opened[1]!));
      await chat(given.store, opened[0]!, "comes to another App", { app: "defi" });
      expect(await read(["default"])).toEqual([opened[3], opened[2]]);
      expect(await read(["defi"])).toEqual([opened[0]]);
    });

    it("come in pages without gaps and duplicates, even if listed sessions move in the meantime", async () => {
      const wallet = randomUUID();
      const opened = await openMany(wallet, 7);
      const seen: string[] = [];
      let after: ThreadQuery["after"] = null;
      for (;;) {
        const page = await given.store.sessions.list({ publicKey: wallet, access, limit: 2, after });
        seen.push(...ids(page));
        const last = page.at(-1);
        if (last === undefined) break;
        after = last;
        await given.clock.advance(1);
        await chat(given.store, seen[0]!, "what was shown moves to the front");
      }
      expect(seen).toEqual(opened.toReversed());
    });

    it("have pinned sessions first, in pages and in the list of all ids, each part ordered by activity", async () => {
      const wallet = randomUUID();
      const opened = await openMany(wallet, 6);
      const pin = (id: string, pinned: boolean) =>
        given.store.execute({ kind: "pin", target: existing(id), input: { pinned } });
      const before = await record(given.store, opened[1]!);
      for (const id of [opened[1]!, opened[3]!, opened[4]!]) await pin(id, true);
      await pin(opened[4]!, false);
      expect(await record(given.store, opened[1]!)).toEqual({ ...before, pinned: true });
      const expected = [3, 1, 5, 4, 2, 0].map((index) => opened[index]!);
      const { sessions } = given.store;
      for (const limit of [1, 2, 3, 10]) {
        const seen: string[] = [];
        for (let after: ThreadQuery["after"] = null; ; ) {
          const page = await sessions.list({ publicKey: wallet, access, limit, after });
          seen.push(...ids(page));
          const last = page.at(-1);
          if (last === undefined) break;
          const keys = await sessions.listKeys({ publicKey: wallet, access, after: last });
          expect(ids(await sessions.byKeys(keys, access))).toEqual(expected.slice(seen.length));
          after = last;
        }
        expect(seen).toEqual(expected);
      }
    });

    it("contain only sessions with the wanted texts in their metadata, of those that access allows", async () => {
      const wallet = randomUUID();
      const opened = await openMany(wallet, 5);
      const edit = (index: number, metadata: JsonObject) =>
        given.store.execute({ kind: "edit", target: existing(opened[index]!), input: { metadata } });
      for (const index of [0, 1, 4]) await edit(index, { project: "a'%\\\"", place: `p${index}` });
      await edit(2, { project: { "a'%": 1 }, place: "p0" });
      await given.store.execute({ kind: "pin", target: existing(opened[0]!), input: { pinned: true } });
      await given.clock.advance(1);
      await chat(given.store, opened[1]!, "comes to another App", { app: "defi" });
      const { sessions } = given.store;
      const list = async (metadata: Record<string, string>, of = access) => {
        const query = { publicKey: wallet, access: of, after: null, metadata };
        const listed = ids(await sessions.list({ ...query, limit: 10 }));
        expect(ids(await sessions.byKeys(await sessions.listKeys(query), of))).toEqual(listed);
        const [first] = await sessions.list({ ...query, limit: 1 });
        const rest = await sessions.list({ ...query, limit: 10, after: first ?? null });
        expect(first === undefined ? [] : [first.id, ...ids(rest)]).toEqual(listed);
        return listed;
      };
      const project = "a'%\\\"";
      expect(await list({ project })).toEqual([opened[0], opened[4]]);
      expect(await list({ project }, accessTo("default", "defi"))).toEqual([opened[0], opened[1], opened[4]]);
      expect(await list({ project, place: "p4" })).toEqual([opened[4]]);
      expect(await list({ project, place: "p2" })).toEqual([]);
      expect(await list({ place: "p0" })).toEqual([opened[0], opened[2]]);
      expect(await list({ unknown: "p0" })).toEqual([]);
      await given.store.execute({ kind: "edit", target: existing(opened[0]!), input: { metadata: null } });
      expect(await list({ project })).toEqual([opened[4]]);
    });

    it("contain only archived sessions, or only the others, also with other filters", async () => {
      const wallet = randomUUID();
      const opened = await openMany(wallet, 4);
      const edit = (index: number, input: EditInput) =>
        given.store.execute({ kind: "edit", target: existing(opened[index]!), input });
      const before = await record(given.store, opened[1]!);
      for (const index of [1, 2, 3]) await edit(index, { archived: true });
      await edit(3, { archived: false });
      expect(await record(given.store, opened[1]!)).toEqual({ ...before, archived: true });
      await given.store.execute({ kind: "pin", target: existing(opened[2]!), input: { pinned: true } });
      await edit(2, { metadata: { project: "tea" } });
      const { sessions } = given.store;
      const list = async (more: Pick<ThreadQuery, "archived" | "metadata">) => {
        const query = { publicKey: wallet, access, after: null, ...more };
        const listed = ids(await sessions.list({ ...query, limit: 10 }));
        expect(ids(await sessions.byKeys(await sessions.listKeys(query), access))).toEqual(listed);
        return listed;
      };
      expect(await list({})).toEqual([2, 3, 1, 0].map((index) => opened[index]));
      expect(await list({ archived: true })).toEqual([opened[2], opened[1]]);
      expect(await list({ archived: false })).toEqual([opened[3], opened[0]]);
      expect(await list({ archived: true, metadata: { project: "tea" } })).toEqual([opened[2]]);
      expect(await list({ archived: false, metadata: { project: "tea" } })).toEqual([]);
    });

    it("order sessions of the same millisecond by age, also across pages", async () => {
      const wallet = randomUUID();
      const opened = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const id = randomUUID();
          await open(given.store, target(id), { userState: null, publicKey: wallet });
          return await record(given.store, id);
        }),
      );
      const expected = ids(opened.toSorted((left, right) => right.key - left.key));
      const query = { publicKey: wallet, access, limit: 2 };
      const first = await given.store.sessions.list({ ...query, after: null });
      const last = first[1]!;
      const second = await given.store.sessions.list({
        ...query,
        after: last,
      });
      expect([...ids(first), ...ids(second)]).toEqual(expected);
    });
  });
}
