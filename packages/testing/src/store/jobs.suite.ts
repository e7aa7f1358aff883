import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { IDEMPOTENCY_KEPT_MS } from "@colloquy/engine/internal/core/commands/chat";
import { TITLE_LEASE_MS } from "@colloquy/engine/internal/core/commands/finish-title";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  target,
  existing,
  open,
  rename,
  remove,
  chat,
  startTurn,
  complete,
  record,
  allEvents,
} from "./fixtures/scenario.ts";

export function describeJobs(openStore: OpenStore): void {
  describe("title jobs", () => {
    const given = givenStore(openStore, "all, without sessions");
    const claim = (limit = 10) => given.store.jobs.claimTitles(limit, 5000);

    it("are reserved for the chat's process until its lease expires, then claimed by one caller at a time", async () => {
      const id = randomUUID();
      const { incarnation } = await startTurn(given.store, id, "what is it?");
      await given.clock.advance(TITLE_LEASE_MS - 1);
      expect(await claim()).toEqual([]);
      await given.clock.advance(1);
      expect(await claim()).toEqual([
        { sessionId: id, incarnation, app: "default", utilityModel: null, text: "what is it?", turn: 1 },
      ]);
      expect(await claim()).toEqual([]);
      await given.clock.advance(5000);
      expect(await claim()).toHaveLength(1);
    });

    it("are claimed once by concurrent callers", async () => {
      const ids = Array.from({ length: 6 }, () => randomUUID());
      for (const id of ids) await chat(given.store, id, "hello");
      await given.clock.advance(TITLE_LEASE_MS);
      const claimed = await Promise.all([claim(4), claim(4)]);
      expect(claimed.map((jobs) => jobs.length)).toEqual([4, 2]);
      expect(new Set(claimed.flat().map(({ sessionId }) => sessionId))).toEqual(new Set(ids));
    });

    it("contain the first message, the App and the utility model of the session", async () => {
      const id = randomUUID();
      await given.store.execute({
        kind: "setModel",
        target: target(id),
        input: { app: "defi", rig: "a/b", utilityModel: "a/small" },
      });
      const input = { app: "defi", models: ["a/b"] };
      expect((await chat(given.store, id, "first", input)).outcome).toMatchObject({ wantsTitle: true });
      expect((await chat(given.store, id, "second", input)).outcome).toMatchObject({ wantsTitle: false });
      await given.clock.advance(TITLE_LEASE_MS);
      expect(await claim()).toMatchObject([{ app: "defi", utilityModel: "a/small", text: "first" }]);
    });

    it("set the title, emit an event, and are then deleted", async () => {
      const id = randomUUID();
      const { incarnation } = await startTurn(given.store, id, "hello");
      const finished = await given.store.execute({
        kind: "finishTitle",
        target: { session: id, incarnation },
        input: { title: "A greeting", turn: 1 },
      });
      expect(finished?.session).toMatchObject({ title: "A greeting", titleSource: "generated" });
      expect(finished?.events.map(({ event }) => event)).toEqual([
        { type: "title_changed", new_title: "A greeting" },
      ]);
      await given.clock.advance(TITLE_LEASE_MS);
      expect(await claim()).toEqual([]);
      expect(
        (
          await given.store.execute({
            kind: "finishTitle",
            target: { session: id, incarnation },
            input: { title: "Another", turn: 1 },
          })
        )?.events,
      ).toEqual([]);
      expect((await record(given.store, id)).title).toBe("A greeting");
    });

    it("do not replace a title that the user sets before or after", async () => {
      const id = randomUUID();
      const { incarnation } = await startTurn(given.store, id, "hello");
      await rename(given.store, existing(id), "Mine");
      await given.clock.advance(TITLE_LEASE_MS);
      expect(await claim()).toEqual([]);
      const late = await given.store.execute({
        kind: "finishTitle",
        target: { session: id, incarnation },
        input: { title: "Generated", turn: 1 },
      });
      expect(late).toMatchObject({ events: [], session: { title: "Mine", titleSource: "user" } });
      const other = randomUUID();
      const turn = await startTurn(given.store, other, "hello");
      await given.store.execute({
        kind: "finishTitle",
        target: { session: other, incarnation: turn.incarnation },
        input: { title: "Generated", turn: 1 },
      });
      await rename(given.store, existing(other), "Mine");
      expect((await record(given.store, other)).title).toBe("Mine");
    });

    it("are not created for a session that was renamed before its first message", async () => {
      const id = randomUUID();
      await open(given.store, target(id), { userState: null, publicKey: null });
      await rename(given.store, existing(id), "Mine");
      expect((await chat(given.store, id, "hello")).outcome).toMatchObject({ wantsTitle: false });
      await given.clock.advance(TITLE_LEASE_MS);
      expect(await claim()).toEqual([]);
    });

    it("do not affect another incarnation of the session", async () => {
      const id = randomUUID();
      const old = await startTurn(given.store, id, "hello");
      await remove(given.store, existing(id));
      expect(
        await given.store.execute({
          kind: "finishTitle",
          target: { session: id, incarnation: old.incarnation },
          input: { title: "Late", turn: 1 },
        }),
      ).toBeNull();
      await startTurn(given.store, id, "hello again");
      const before = await allEvents(given.store, id);
      expect(
        await given.store.execute({
          kind: "finishTitle",
          target: { session: id, incarnation: old.incarnation },
          input: { title: "Late", turn: 1 },
        }),
      ).toBeNull();
      expect(await allEvents(given.store, id)).toEqual(before);
    });

    it("are deleted with their session", async () => {
      const id = randomUUID();
      await complete(given.store, await startTurn(given.store, id, "hello"), "hi");
      await remove(given.store, existing(id));
      await given.clock.advance(TITLE_LEASE_MS);
      expect(await claim()).toEqual([]);
    });
  });

  describe("idempotency keys", () => {
    const given = givenStore(openStore, "all, without sessions");

    it("are valid in their own session for 24 hours", async () => {
      const [id, other] = [randomUUID(), randomUUID()];
      const isUsed = (session: string, key: string) => given.store.jobs.isKeyUsed(session, key);
      expect(await isUsed(id, "k")).toBe(false);
      await chat(given.store, id, "hello", { idempotency: { key: "k", digest: "d" } });
      await chat(given.store, other, "hello");
      expect([await isUsed(id, "k"), await isUsed(id, "K"), await isUsed(other, "k")]).toEqual([
        true,
        false,
        false,
      ]);
      await given.clock.advance(IDEMPOTENCY_KEPT_MS - 1);
      expect(await isUsed(id, "k")).toBe(true);
      await given.clock.advance(1);
      expect(await isUsed(id, "k")).toBe(false);
    });

    it("are deleted after 24 hours, in batches", async () => {
      for (const key of ["a", "b", "c"]) {
        await chat(given.store, randomUUID(), "hello", { idempotency: { key, digest: "d" } });
      }
      await given.clock.advance(1000);
      const id = randomUUID();
      const idempotency = { key: "young", digest: "d" };
      await chat(given.store, id, "hello", { idempotency });
      await given.clock.advance(IDEMPOTENCY_KEPT_MS - 1001);
      expect(await given.store.jobs.forgetIdempotencyKeys(10)).toBe(0);
      await given.clock.advance(1);
      expect(await given.store.jobs.forgetIdempotencyKeys(2)).toBe(2);
      expect(await given.store.jobs.forgetIdempotencyKeys(2)).toBe(1);
      expect(await given.store.jobs.forgetIdempotencyKeys(2)).toBe(0);
      expect((await chat(given.store, id, "hello", { idempotency })).outcome.kind).toBe("replayed");
    });
  });

  describe("a job lease", () => {
    const given = givenStore(openStore, "each");
    const take = (name = "cleanup") => given.store.jobs.takeDuty(name, 60_000);

    it("belongs to one of the concurrent callers until it expires", async () => {
      const taken = await Promise.all([take(), take(), take()]);
      expect(taken.filter((at) => at === given.clock.now())).toHaveLength(1);
      await given.clock.advance(59_999);
      expect(await take()).toBeNull();
      await given.clock.advance(1);
      expect(await take()).toBe(given.clock.now());
      expect(await take()).toBeNull();
    });

    it("is independent of others", async () => {
      const now = given.clock.now();
      expect([await take("cleanup"), await take("another")]).toEqual([now, now]);
    });
  });
}
