import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { LEASE_MS, type StartedTurn } from "@colloquy/engine/internal/core/turn";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  existing,
  decide,
  chat,
  startTurn,
  identityOf,
  step,
  callOf,
  askOf,
  claimTurns,
} from "./fixtures/scenario.ts";

const MINUTE = 60_000;

export function describeRunTime(openStore: OpenStore): void {
  describe("the running time of a turn", () => {
    const given = givenStore(openStore, "all, without sessions");

    async function claim(): Promise<StartedTurn> {
      const [claimed] = await claimTurns(given.store, { owner: "next" });
      return claimed!.outcome!;
    }

    it("is 0 at its start, however long the turn waited", async () => {
      expect(await startTurn(given.store, randomUUID(), "one")).toMatchObject({ ranMs: 0 });
      await chat(given.store, randomUUID(), "two");
      await given.clock.advance(MINUTE);
      expect(await claim()).toMatchObject({ userText: "two", ranMs: 0 });
    });

    it("counts until the lease of a dead owner expired, even if that was noticed later", async () => {
      const { epoch } = await startTurn(given.store, randomUUID(), "one");
      await given.clock.advance(4_000);
      await given.store.turns.renew("owner", [epoch], LEASE_MS);
      await given.clock.advance(60 * MINUTE);
      await given.store.turns.releaseDeadLeases(null);
      expect(await claim()).toMatchObject({ ranMs: 4_000 + LEASE_MS, attempt: 2 });
    });

    it("adds up over attempts that were handed back or whose owners died", async () => {
      const { epoch } = await startTurn(given.store, randomUUID(), "one");
      await given.clock.advance(3_000);
      await given.store.turns.handBack("owner", [epoch]);
      await given.clock.advance(MINUTE);
      expect(await claim()).toMatchObject({ ranMs: 3_000, attempt: 1 });
      await given.clock.advance(2_000);
      await given.store.turns.releaseDeadLeases("alone");
      expect(await claim()).toMatchObject({ ranMs: 5_000, attempt: 2 });
    });

    it("excludes the wait for a person, and continues from the earlier total", async () => {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "one");
      await given.clock.advance(2_000);
      const asked = askOf("a");
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn: identityOf(turn) },
        input: { step: step(1, "May I?"), calls: [callOf("a")], actions: [asked] },
      });
      await given.clock.advance(1_000);
      expect(
        await given.store.execute({ kind: "wait", target: { turn: identityOf(turn) }, input: null }),
      ).toMatchObject({ outcome: "waits" });
      await given.clock.advance(5 * MINUTE);
      await decide(given.store, existing(id), asked.id, { decision: "approve", result: null });
      await given.clock.advance(MINUTE);
      const again = await claim();
      expect(again).toMatchObject({ ranMs: 3_000, attempt: 1 });
      await given.clock.advance(500);
      await given.store.execute({ kind: "wait", target: { turn: identityOf(again) }, input: null });
      expect(await claim()).toMatchObject({ ranMs: 3_500 });
    });

    it("counts an attempt once if its owner hands it back after being declared dead", async () => {
      const turn = await startTurn(given.store, randomUUID(), "one");
      await given.clock.advance(LEASE_MS);
      await given.store.turns.releaseDeadLeases(null);
      await given.clock.advance(1_000);
      await given.store.execute({ kind: "wait", target: { turn: identityOf(turn) }, input: null });
      expect(await claim()).toMatchObject({ ranMs: LEASE_MS });
    });

    it("is separate for turns that end in the same statement", async () => {
      const first = await startTurn(given.store, randomUUID(), "one");
      await given.clock.advance(1_000);
      const second = await startTurn(given.store, randomUUID(), "two");
      await given.clock.advance(1_000);
      expect(await given.store.turns.handBack("owner", [first.epoch, second.epoch])).toBe(2);
      expect([await claim(), await claim()]).toMatchObject([
        { userText: "one", ranMs: 2_000 },
        { userText: "two", ranMs: 1_000 },
      ]);
    });
  });
}
