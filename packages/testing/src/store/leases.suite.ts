// Leases: who may write for a turn and until when, and how a turn continues after its owner lost the lease.

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { LEASE_MS } from "@colloquy/engine/internal/core/turn";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  claimOf,
  chat,
  startTurn,
  identityOf,
  step,
  callOf,
  complete,
  claimTurns,
  load,
  allEvents,
  everything,
  types,
} from "./fixtures/scenario.ts";

export function describeLeases(openStore: OpenStore): void {
  describe("leases", () => {
    const given = givenStore(openStore, "all, without sessions");

    const claim = (owner = "other") => claimTurns(given.store, { owner });
    const release = (everyOther: string | null = null) => given.store.turns.releaseDeadLeases(everyOther);

    it("expire ten seconds after a chat started the turn, and not before", async () => {
      await startTurn(given.store, randomUUID(), "one");
      await given.clock.advance(LEASE_MS - 1);
      expect(await release()).toBe(0);
      expect(await claim()).toEqual([]);
      await given.clock.advance(1);
      expect(await release()).toBe(1);
      expect(await release()).toBe(0);
      expect(await claim()).toHaveLength(1);
    });

    it("expire ten seconds after the turn was claimed", async () => {
      await chat(given.store, randomUUID(), "one");
      await given.clock.advance(60_000);
      await claim("first");
      await given.clock.advance(LEASE_MS - 1);
      expect(await release()).toBe(0);
      await given.clock.advance(1);
      expect(await release()).toBe(1);
    });

    it("stay valid while their owner renews them; renewal returns the renewed ones", async () => {
      const turn = await startTurn(given.store, randomUUID(), "one");
      const [second] = [await startTurn(given.store, randomUUID(), "two")];
      await given.clock.advance(9_000);
      const epochs = [turn.epoch, second.epoch];
      const held = await given.store.turns.renew("owner", epochs, 10_000);
      expect(held.renewed.toSorted((a, b) => a - b)).toEqual(epochs);
      expect(held.busy).toEqual([]);
      expect(await given.store.turns.renew("other", epochs, 10_000)).toEqual({ renewed: [], busy: [] });
      await given.clock.advance(9_999);
      expect(await release()).toBe(0);
      await given.clock.advance(1);
      expect(await release()).toBe(2);
    });

    it("expire if their owner does not renew them, so that the turn runs again", async () => {
      const lost = await startTurn(given.store, randomUUID(), "lost");
      const kept = await startTurn(given.store, randomUUID(), "kept");
      await given.clock.advance(9_000);
      expect(await given.store.turns.renew("owner", [kept.epoch], 10_000)).toEqual({
        renewed: [kept.epoch],
        busy: [],
      });
      await given.clock.advance(1_000);
      expect(await release()).toBe(1);
      expect((await claim()).map(({ outcome }) => outcome?.sessionKey)).toEqual([lost.sessionKey]);
    });

    it("cannot be renewed after their expiry", async () => {
      const { epoch } = await startTurn(given.store, randomUUID(), "one");
      await given.clock.advance(LEASE_MS);
      expect(await given.store.turns.renew("owner", [epoch], 10_000)).toEqual({ renewed: [], busy: [] });
      expect(await release()).toBe(1);
    });

    it("permit no write after their expiry, even before a sweep", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "one"));
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, ""), calls: [callOf("a")], actions: [] },
      });
      await given.clock.advance(LEASE_MS - 1);
      expect(await given.store.turns.checkpoint([{ turn, offset: 0, text: "in time" }])).toEqual([true]);
      await given.clock.advance(1);
      const before = await everything(given.store, id);
      const outcome = { callId: "a", output: "late", isError: false, durationMs: 1 };
      const failure = { code: "model_error", message: "m" } as const;
      const late = async () => [
        await given.store.turns.checkpoint([{ turn, offset: 7, text: ", late" }]),
        await given.store.execute({
          kind: "stepWithCalls",
          target: { turn },
          input: { step: step(2, "late"), calls: [], actions: [] },
        }),
        await given.store.execute({
          kind: "toolProgress",
          target: { turn },
          input: { callId: "a", progress: "late" },
        }),
        await given.store.execute({ kind: "startCalls", target: { turn }, input: { callIds: ["a"] } }),
        await given.store.execute({ kind: "toolResult", target: { turn }, input: { outcome, starts: [] } }),
        await given.store.execute({ kind: "wait", target: { turn }, input: null }),
        await given.store.execute({ kind: "complete", target: { turn }, input: { step: step(2, "late") } }),
        await given.store.execute({ kind: "fail", target: { turn }, input: { text: "late", failure } }),
      ];
      expect(await late()).toEqual([[false], ...Array(7).fill(null)]);
      expect(await release()).toBe(1);
      expect(await late()).toEqual([[false], ...Array(7).fill(null)]);
      expect(await everything(given.store, id)).toEqual(before);
      expect(await claim()).toHaveLength(1);
    });

    it("permit writes when renewed in time", async () => {
      const turn = await startTurn(given.store, randomUUID(), "one");
      await given.clock.advance(LEASE_MS - 1);
      expect(await given.store.turns.renew("owner", [turn.epoch], LEASE_MS)).toEqual({
        renewed: [turn.epoch],
        busy: [],
      });
      await given.clock.advance(LEASE_MS - 1);
      expect(
        await given.store.turns.checkpoint([{ turn: identityOf(turn), offset: 0, text: "in time" }]),
      ).toEqual([true]);
    });

    it("end with their turn", async () => {
      const turn = await startTurn(given.store, randomUUID(), "one");
      await complete(given.store, turn, "answer");
      expect(await given.store.turns.renew("owner", [turn.epoch], 10_000)).toEqual({ renewed: [], busy: [] });
      await given.clock.advance(60_000);
      expect(await release("nobody")).toBe(0);
    });

    it("are released by a single process if they belong to other owners; its own are kept", async () => {
      const mine = await startTurn(given.store, randomUUID(), "mine");
      const theirs = randomUUID();
      await startTurn(given.store, theirs, "theirs", {
        claim: { owner: "crashed", agentMessageId: randomUUID() },
      });
      expect(await release("owner")).toBe(1);
      const claimed = await claimTurns(given.store, { count: 2 });
      expect(claimed.map(({ session }) => session.id)).toEqual([theirs]);
      await complete(given.store, mine, "answer");
    });

    it("end when turns are handed back: only those of the given owner and epochs run again at once", async () => {
      const returned = await startTurn(given.store, randomUUID(), "given back");
      const kept = await startTurn(given.store, randomUUID(), "kept");
      const theirs = await startTurn(given.store, randomUUID(), "theirs", { claim: claimOf("other") });
      const done = await startTurn(given.store, randomUUID(), "done");
      await complete(given.store, done, "answer");
      const epochs = [returned, theirs, done].map(({ epoch }) => epoch);
      expect(await given.store.turns.handBack("owner", epochs)).toBe(1);
      expect(await given.store.turns.handBack("owner", epochs)).toBe(0);
      expect(await given.store.turns.renew("owner", [returned.epoch, kept.epoch], 10_000)).toEqual({
        renewed: [kept.epoch],
        busy: [],
      });
      const claimed = await claimTurns(given.store, { owner: "next", count: 2 });
      expect(claimed.map(({ outcome }) => outcome?.sessionKey)).toEqual([returned.sessionKey]);
      expect(await given.store.turns.checkpoint([{ turn: returned, offset: 0, text: "not mine" }])).toEqual([
        false,
      ]);
    });
  });

  describe("a turn that runs again", () => {
    const given = givenStore(openStore, "all, without sessions");

    async function crashAndClaim() {
      await given.store.turns.releaseDeadLeases("alone");
      const claimed = await claimTurns(given.store, { owner: "crashing" });
      expect(claimed).toHaveLength(1);
      return claimed[0]!;
    }

    it("resumes after its last finished step, with its message and a new epoch", async () => {
      const id = randomUUID();
      const first = await startTurn(given.store, id, "one");
      const calls = [
        { id: "a", name: "read", arguments: {}, status: "running", effect: "read", step: 1 },
        { id: "b", name: "write", arguments: {}, status: "running", effect: "unsafe", step: 1 },
      ] as const;
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn: first },
        input: { step: step(1, "First."), calls, actions: [] },
      });
      await given.store.turns.checkpoint([{ turn: first, offset: 0, text: "lost in the crash" }]);
      const again = await crashAndClaim();
      expect(again.outcome).toMatchObject({ number: 1, attempt: 2, stepsDone: 1, userText: "one" });
      expect(again.outcome?.epoch).toBeGreaterThan(first.epoch);
      expect(again.outcome?.agentMessage).toMatchObject({ id: first.agentMessage.id, content: "First." });
      expect(again.outcome?.openCalls.map((call) => call.id)).toEqual(["a"]);
      const { messages, checkpointed } = await load(given.store, id);
      expect(checkpointed).toBe("");
      expect(messages[1]?.toolResults).toMatchObject([{ call_id: "b", output: "outcome unknown" }]);
      await given.store.execute({
        kind: "complete",
        target: { turn: identityOf(again.outcome!) },
        input: { step: step(2, "Second.") },
      });
      expect((await load(given.store, id)).messages[1]?.content).toBe("First.\n\nSecond.");
    });

    it("does not count attempts that were handed back", async () => {
      const id = randomUUID();
      let turn = await startTurn(given.store, id, "one");
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "First."), calls: [], actions: [] },
      });
      for (let n = 0; n < 5; n += 1) {
        await given.store.turns.handBack("owner", [turn.epoch]);
        const [again] = await claimTurns(given.store);
        expect(again?.outcome).toMatchObject({
          attempt: 1,
          stepsDone: 1,
          agentMessage: { id: turn.agentMessage.id, content: "First." },
        });
        turn = again!.outcome!;
      }
      // An attempt that crashed counts towards the limit.
      expect((await crashAndClaim()).outcome?.attempt).toBe(2);
    });

    it("fails after its third attempt, and its session is idle", async () => {
      const id = randomUUID();
      await startTurn(given.store, id, "one");
      expect((await crashAndClaim()).outcome?.attempt).toBe(2);
      expect((await crashAndClaim()).outcome?.attempt).toBe(3);
      const before = await allEvents(given.store, id);
      const failed = await crashAndClaim();
      expect(failed.outcome).toBeNull();
      expect(failed.session.status).toBe("idle");
      expect(types(failed.events)).toEqual([
        "message_completed",
        "system_event",
        "system_notice",
        "state_changed",
      ]);
      expect(await allEvents(given.store, id)).toEqual([...before, ...failed.events]);
      const { messages, systemEvents } = await load(given.store, id);
      expect(messages[1]?.status).toBe("failed");
      expect(systemEvents.map(({ item }) => item.type)).toEqual(["error"]);
      expect(await claimTurns(given.store, { owner: "next" })).toEqual([]);
      expect(await given.store.turns.countWaiting(10)).toBe(0);
    });

    it("fails after its third attempt, and the next queued turn can run", async () => {
      const id = randomUUID();
      await startTurn(given.store, id, "one");
      await chat(given.store, id, "two");
      await crashAndClaim();
      await crashAndClaim();
      const failed = await crashAndClaim();
      expect(failed).toMatchObject({ outcome: null, session: { status: "processing" } });
      const [next] = await claimTurns(given.store, { owner: "next" });
      expect(next?.outcome).toMatchObject({ number: 2, userText: "two", attempt: 1 });
      await complete(given.store, next!.outcome!, "answer");
      expect((await everything(given.store, id)).session.status).toBe("idle");
    });
  });
}
