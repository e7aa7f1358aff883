import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  existing,
  APPROVE,
  DENY,
  decide,
  chat,
  startTurn,
  identityOf,
  step,
  callOf,
  askOf,
  claimTurns,
  waitFor,
  load,
} from "./fixtures/scenario.ts";

export function describeWaitingTurns(openStore: OpenStore): void {
  describe("turns that wait for actions", () => {
    const given = givenStore(openStore, "all, without sessions");

    it("have no lease, owner or write access, however long they wait", async () => {
      const { id, turn } = await waitFor(given.store, askOf("a", { validMs: 86_400_000 }));
      expect(
        await given.store.execute({
          kind: "complete",
          target: { turn: identityOf(turn) },
          input: { step: step(2, "late") },
        }),
      ).toBeNull();
      expect(await given.store.turns.renew("owner", [turn.epoch], 10_000)).toEqual({ renewed: [], busy: [] });
      await given.clock.advance(3_600_000);
      expect(await given.store.turns.releaseDeadLeases("another")).toBe(0);
      expect(await given.store.turns.handBack("owner", [turn.epoch])).toBe(0);
      expect(await claimTurns(given.store)).toEqual([]);
      expect(await given.store.turns.countWaiting(10)).toBe(0);
      const later = given.clock.now() + 1;
      expect(
        await given.store.sessions.expire({ emptyBefore: later, unboundBefore: later, limit: 10 }),
      ).toEqual([]);
      expect((await load(given.store, id)).session.status).toBe("processing");
    });

    it("exclude the messages queued behind them from the backlog until they resume; the limit per session still applies", async () => {
      const id = randomUUID();
      const asks = askOf("a");
      const turn = identityOf(await startTurn(given.store, id, "go"));
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, ""), calls: [callOf("a")], actions: [asks] },
      });
      await chat(given.store, id, "before");
      expect(await given.store.turns.countWaiting(10)).toBe(1);
      await given.store.execute({ kind: "wait", target: { turn }, input: null });
      await Promise.all([chat(given.store, id, "meanwhile"), chat(given.store, id, "as well")]);
      expect(await given.store.turns.countWaiting(10)).toBe(0);
      const refused = await chat(given.store, id, "too many", { maxQueued: 3 });
      expect(refused.outcome).toEqual({ kind: "rejected", reason: "queue_full" });
      expect((await decide(given.store, existing(id), asks.id, DENY))?.outcome).toMatchObject({
        unblocked: 4,
      });
      expect(await given.store.turns.countWaiting(10)).toBe(4);
      await claimTurns(given.store);
      expect(await given.store.turns.countWaiting(10)).toBe(3);
    });

    it("add the messages queued behind them to the backlog when their actions expire", async () => {
      for (const { id } of [await waitFor(given.store, askOf("a")), await waitFor(given.store, askOf("b"))]) {
        await chat(given.store, id, "meanwhile");
      }
      await given.clock.advance(600_000);
      const expired = await given.store.executeEach({ kind: "expireActions", limit: 10 });
      expect(expired.map(({ outcome }) => outcome)).toEqual([{ unblocked: 2 }, { unblocked: 2 }]);
      expect(await given.store.turns.countWaiting(10)).toBe(4);
    });

    it("are claimed after the last decision, with the approved calls, which start then", async () => {
      const [first, second] = [askOf("a"), askOf("b")];
      const { id } = await waitFor(given.store, first, second);
      expect((await decide(given.store, existing(id), first.id, APPROVE))?.outcome).toMatchObject({
        unblocked: 0,
      });
      expect(await claimTurns(given.store)).toEqual([]);
      expect((await decide(given.store, existing(id), second.id, DENY))?.outcome).toMatchObject({
        unblocked: 1,
      });
      const [claimed] = await claimTurns(given.store, { count: 5 });
      expect(claimed?.outcome).toMatchObject({
        number: 1,
        attempt: 1,
        stepsDone: 1,
        openCalls: [{ id: "a", arguments: { of: "a" }, phase: "approved" }],
      });
      // The call has not started, so the next owner may run it.
      await given.store.turns.releaseDeadLeases("another");
      const [again] = await claimTurns(given.store);
      expect(again?.outcome?.openCalls).toMatchObject([{ id: "a", phase: "approved" }]);
      const head = again?.session.head;
      const started = await given.store.execute({
        kind: "startCalls",
        target: { turn: identityOf(again!.outcome!) },
        input: { callIds: ["a"] },
      });
      expect(started).toMatchObject({ outcome: "ok", events: [], session: { head } });
      // The intent is durable: the call is not repeated after a crash.
      await given.store.turns.releaseDeadLeases("another");
      expect((await claimTurns(given.store))[0]?.outcome?.openCalls).toEqual([]);
      const { messages } = await load(given.store, id);
      expect(messages[1]?.toolResults.map(({ call_id, output }) => [call_id, output])).toEqual([
        ["b", "The user denied this call."],
        ["a", "outcome unknown"],
      ]);
    });

    it("resume at once if no action is pending any more", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "go"));
      const asked = askOf("a");
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, ""), calls: [callOf("a")], actions: [asked] },
      });
      await decide(given.store, existing(id), asked.id, DENY);
      expect((await given.store.execute({ kind: "wait", target: { turn }, input: null }))?.outcome).toBe(
        "runnable",
      );
      expect(await given.store.turns.countWaiting(10)).toBe(1);
      const [claimed] = await claimTurns(given.store);
      await given.store.execute({
        kind: "complete",
        target: { turn: identityOf(claimed!.outcome!) },
        input: { step: step(2, "done") },
      });
      expect((await load(given.store, id)).session.status).toBe("idle");
    });

    it("keep waiting if only one of two actions expires", async () => {
      const { id } = await waitFor(given.store, askOf("a", { validMs: 1_000 }), askOf("b"));
      await given.clock.advance(1_000);
      const [expired] = await given.store.executeEach({ kind: "expireActions", limit: 10 });
      expect(expired?.outcome).toEqual({ unblocked: 0 });
      expect((await load(given.store, id)).pendingActions.map(({ callId }) => callId)).toEqual(["b"]);
      expect(await claimTurns(given.store)).toEqual([]);
    });
  });
}
