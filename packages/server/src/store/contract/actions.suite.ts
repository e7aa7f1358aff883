import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { AskedAction } from "../../core/action.ts";
import type { StartedTurn } from "../../core/turn.ts";
import { givenStore, type OpenStore } from "./testing/given-store.ts";
import {
  askOf,
  callOf,
  chat,
  everything,
  identityOf,
  load,
  startTurn,
  step,
  types,
} from "./testing/scenario.ts";

const APPROVE = { decision: "approve", result: null } as const;
const DENY = { decision: "deny", result: null } as const;

export function describeActions(openStore: OpenStore): void {
  describe("actions that wait for a person", () => {
    const given = givenStore(openStore, "all, without sessions");

    /** Creates a session whose turn waits for the actions of these unsafe calls. */
    async function waiting(
      ...asked: readonly AskedAction[]
    ): Promise<{ readonly id: string; readonly turn: StartedTurn }> {
      const id = randomUUID();
      const turn = await startTurn(given.store, id, "go");
      const calls = asked.map(({ callId }) => callOf(callId, { effect: "unsafe" }));
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn: identityOf(turn) },
        input: { step: step(1, "Let me ask."), calls, asked },
      });
      await given.store.execute({ kind: "wait", target: { turn: identityOf(turn) }, input: null });
      return { id, turn };
    }

    const claim = (count = 1) =>
      given.store.executeEach({
        kind: "claimTurns",
        owner: "owner",
        agentMessageIds: Array.from({ length: count }, () => randomUUID()),
        fullProviders: [],
        models: {},
      });

    it("are stored with the step that requests them, and shown until decided", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "go"));
      const [first, second] = [askOf("a"), askOf("b")];
      const committed = await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "Let me ask."), calls: [callOf("a"), callOf("b")], asked: [first, second] },
      });
      expect(types(committed?.events ?? [])).toEqual([
        "message_updated",
        "tool_update",
        "tool_update",
        "system_event",
        "system_notice",
        "system_event",
        "system_notice",
      ]);
      const { pendingActions } = await load(given.store, id);
      expect(pendingActions).toMatchObject([
        {
          id: first.id,
          turn: 1,
          callId: "a",
          tool: "tool_a",
          asked: first.asked,
          status: "pending",
          result: null,
          createdAt: given.clock.now(),
          expiresAt: given.clock.now() + 600_000,
          resolvedAt: null,
        },
        { id: second.id },
      ]);
      await given.store.execute({
        kind: "resolveAction",
        target: { session: id, birth: null, load: false },
        input: { action: first.id, ...DENY },
      });
      expect((await load(given.store, id)).pendingActions.map(({ id }) => id)).toEqual([second.id]);
      expect(await given.store.actions.list(id, 10)).toMatchObject([
        { id: first.id, status: "denied", resolvedAt: given.clock.now() },
        { id: second.id, status: "pending" },
      ]);
    });

    it("leave their turn without lease, owner and write access, however long they wait", async () => {
      const { id, turn } = await waiting(askOf("a", { validMs: 86_400_000 }));
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
      expect(await claim()).toEqual([]);
      expect(await given.store.turns.countWaiting(10)).toBe(0);
      const later = given.clock.now() + 1;
      expect(
        await given.store.sessions.expire({ emptyBefore: later, unboundBefore: later, limit: 10 }),
      ).toEqual([]);
      expect((await load(given.store, id)).session.status).toBe("processing");
    });

    it("exclude messages queued behind their turn from the backlog until it resumes; each session has its limit", async () => {
      const id = randomUUID();
      const asks = askOf("a");
      const turn = identityOf(await startTurn(given.store, id, "go"));
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, ""), calls: [callOf("a")], asked: [asks] },
      });
      await chat(given.store, id, "before");
      expect(await given.store.turns.countWaiting(10)).toBe(1);
      await given.store.execute({ kind: "wait", target: { turn }, input: null });
      await Promise.all([chat(given.store, id, "meanwhile"), chat(given.store, id, "as well")]);
      expect(await given.store.turns.countWaiting(10)).toBe(0);
      const refused = await chat(given.store, id, "too many", { maxQueued: 3 });
      expect(refused.outcome).toEqual({ kind: "rejected", reason: "queue_full" });
      expect(
        (
          await given.store.execute({
            kind: "resolveAction",
            target: { session: id, birth: null, load: false },
            input: { action: asks.id, ...DENY },
          })
        )?.outcome,
      ).toMatchObject({ arrived: 4 });
      expect(await given.store.turns.countWaiting(10)).toBe(4);
      await claim();
      expect(await given.store.turns.countWaiting(10)).toBe(3);
    });

    it("add the messages queued behind their turns to the backlog when they expire", async () => {
      for (const { id } of [await waiting(askOf("a")), await waiting(askOf("b"))]) {
        await chat(given.store, id, "meanwhile");
      }
      await given.clock.advance(600_000);
      const expired = await given.store.executeEach({ kind: "expireActions", limit: 10 });
      expect(expired.map(({ outcome }) => outcome)).toEqual([{ arrived: 2 }, { arrived: 2 }]);
      expect(await given.store.turns.countWaiting(10)).toBe(4);
    });

    it("let the turn be claimed after the last decision, with the approved calls, which start then", async () => {
      const [first, second] = [askOf("a"), askOf("b")];
      const { id } = await waiting(first, second);
      expect(
        (
          await given.store.execute({
            kind: "resolveAction",
            target: { session: id, birth: null, load: false },
            input: { action: first.id, ...APPROVE },
          })
        )?.outcome,
      ).toMatchObject({
        arrived: 0,
      });
      expect(await claim()).toEqual([]);
      expect(
        (
          await given.store.execute({
            kind: "resolveAction",
            target: { session: id, birth: null, load: false },
            input: { action: second.id, ...DENY },
          })
        )?.outcome,
      ).toMatchObject({
        arrived: 1,
      });
      const [claimed] = await claim(5);
      expect(claimed?.outcome).toMatchObject({
        turn: 1,
        attempt: 1,
        stepsDone: 1,
        openCalls: [{ id: "a", arguments: { of: "a" }, phase: "approved" }],
      });
      // The call has not started, so the next owner may run it.
      await given.store.turns.releaseDeadLeases("another");
      const [again] = await claim();
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
      expect((await claim())[0]?.outcome?.openCalls).toEqual([]);
      const { messages } = await load(given.store, id);
      expect(messages[1]?.toolResults.map(({ call_id, output }) => [call_id, output])).toEqual([
        ["b", "The user denied this call."],
        ["a", "outcome unknown"],
      ]);
    });

    it("are decided once: an equal later decision gets the same answer, a different one a conflict", async () => {
      const asked = askOf("a");
      const { id } = await waiting(asked);
      const answers = await Promise.all([
        given.store.execute({
          kind: "resolveAction",
          target: { session: id, birth: null, load: false },
          input: { action: asked.id, ...APPROVE },
        }),
        given.store.execute({
          kind: "resolveAction",
          target: { session: id, birth: null, load: false },
          input: { action: asked.id, ...DENY },
        }),
        given.store.execute({
          kind: "resolveAction",
          target: { session: id, birth: null, load: false },
          input: { action: asked.id, ...APPROVE },
        }),
      ]);
      expect(answers.map((answer) => answer?.outcome)).toMatchObject([
        { kind: "decided", action: { status: "approved" }, arrived: 1 },
        { kind: "decided_otherwise" },
        { kind: "decided", action: { status: "approved" }, arrived: 0 },
      ]);
      const before = await everything(given.store, id);
      await given.store.execute({
        kind: "resolveAction",
        target: { session: id, birth: null, load: false },
        input: { action: asked.id, decision: "approve", result: { more: 1 } },
      });
      await given.store.execute({
        kind: "resolveAction",
        target: { session: id, birth: null, load: false },
        input: { action: asked.id, ...DENY },
      });
      expect(await everything(given.store, id)).toEqual(before);
      expect(await claim(5)).toHaveLength(1);
    });

    it("belong to one incarnation of one session", async () => {
      const asked = askOf("a");
      const { id } = await waiting(asked);
      const other = randomUUID();
      await startTurn(given.store, other, "other");
      expect(
        (
          await given.store.execute({
            kind: "resolveAction",
            target: { session: other, birth: null, load: false },
            input: { action: asked.id, ...APPROVE },
          })
        )?.outcome,
      ).toEqual({
        kind: "unknown",
      });
      expect(
        await given.store.execute({
          kind: "resolveAction",
          target: { session: randomUUID(), birth: null, load: false },
          input: { action: asked.id, ...APPROVE },
        }),
      ).toBeNull();
      expect(await given.store.actions.list(randomUUID(), 10)).toBeNull();
      expect(await given.store.actions.list(other, 10)).toEqual([]);
      await given.store.execute({
        kind: "delete",
        target: { session: id, birth: null, load: false },
        input: null,
      });
      await chat(given.store, id, "a new life");
      expect(
        (
          await given.store.execute({
            kind: "resolveAction",
            target: { session: id, birth: null, load: false },
            input: { action: asked.id, ...APPROVE },
          })
        )?.outcome,
      ).toEqual({
        kind: "unknown",
      });
      expect(await given.store.actions.list(id, 10)).toEqual([]);
      await given.clock.advance(600_000);
      expect(await given.store.actions.isAnyDue()).toBe(false);
    });

    it("expire at their time, in batches of a few sessions, the longest due first", async () => {
      const ids: string[] = [];
      for (let index = 0; index < 3; index += 1) {
        ids.push((await waiting(askOf("a"), askOf("b", { validMs: 600_000 + index }))).id);
        await given.clock.advance(1);
      }
      await given.clock.advance(600_000 - 4);
      expect(await given.store.actions.isAnyDue()).toBe(false);
      expect(await given.store.executeEach({ kind: "expireActions", limit: 10 })).toEqual([]);
      await given.clock.advance(1);
      expect(await given.store.actions.isAnyDue()).toBe(true);
      const [first, ...more] = await given.store.executeEach({ kind: "expireActions", limit: 10 });
      expect(more).toEqual([]);
      expect(first).toMatchObject({ session: { id: ids[0] }, outcome: { arrived: 1 } });
      await given.clock.advance(4);
      const rest = [
        await given.store.executeEach({ kind: "expireActions", limit: 1 }),
        await given.store.executeEach({ kind: "expireActions", limit: 1 }),
      ];
      expect(rest.flat().map(({ session }) => session.id)).toEqual(ids.slice(1));
      expect(await given.store.actions.isAnyDue()).toBe(false);
      expect(await given.store.executeEach({ kind: "expireActions", limit: 10 })).toEqual([]);
      expect((await claim(5)).map(({ session }) => session.id)).toEqual(ids);
    });

    it("leave the turn waiting if only one of two is due", async () => {
      const { id } = await waiting(askOf("a", { validMs: 1_000 }), askOf("b"));
      await given.clock.advance(1_000);
      const [expired] = await given.store.executeEach({ kind: "expireActions", limit: 10 });
      expect(expired?.outcome).toEqual({ arrived: 0 });
      expect((await load(given.store, id)).pendingActions.map(({ callId }) => callId)).toEqual(["b"]);
      expect(await claim()).toEqual([]);
    });

    it("are cancelled by an interrupt and by a failure", async () => {
      const asked = askOf("a");
      const { id } = await waiting(asked);
      await given.store.execute({
        kind: "interrupt",
        target: { session: id, birth: null, load: false },
        input: { streamed: null },
      });
      const { messages, session, pendingActions } = await load(given.store, id);
      expect([session.status, pendingActions]).toEqual(["interrupted", []]);
      expect(messages[1]).toMatchObject({
        content: "Let me ask.",
        status: "interrupted",
        toolResults: [{ call_id: "a", output: "interrupted" }],
      });
      expect(
        (
          await given.store.execute({
            kind: "resolveAction",
            target: { session: id, birth: null, load: false },
            input: { action: asked.id, ...APPROVE },
          })
        )?.outcome,
      ).toEqual({
        kind: "cancelled",
      });
      const turn = await startTurn(given.store, id, "again");
      const another = askOf("b");
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn: identityOf(turn) },
        input: { step: step(1, ""), calls: [callOf("b")], asked: [another] },
      });
      await given.store.execute({
        kind: "fail",
        target: { turn: identityOf(turn) },
        input: { text: "", failure: { code: "model_error", message: "m" } },
      });
      expect(
        (
          await given.store.execute({
            kind: "resolveAction",
            target: { session: id, birth: null, load: false },
            input: { action: another.id, ...DENY },
          })
        )?.outcome,
      ).toEqual({
        kind: "cancelled",
      });
      await given.clock.advance(600_000);
      expect(await given.store.actions.isAnyDue()).toBe(false);
    });

    it("let a turn resume at once if none of them is pending any more", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "go"));
      const asked = askOf("a");
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, ""), calls: [callOf("a")], asked: [asked] },
      });
      await given.store.execute({
        kind: "resolveAction",
        target: { session: id, birth: null, load: false },
        input: { action: asked.id, ...DENY },
      });
      expect((await given.store.execute({ kind: "wait", target: { turn }, input: null }))?.outcome).toBe(
        "runnable",
      );
      expect(await given.store.turns.countWaiting(10)).toBe(1);
      const [claimed] = await claim();
      await given.store.execute({
        kind: "complete",
        target: { turn: identityOf(claimed!.outcome!) },
        input: { step: step(2, "done") },
      });
      expect((await load(given.store, id)).session.status).toBe("idle");
    });

    it("are listed while pending, and the most recent of the others", async () => {
      const asked = ["a", "b", "c", "d", "e"].map((call) => askOf(call));
      const { id } = await waiting(...asked);
      for (const { id: action } of asked.slice(1, 4))
        await given.store.execute({
          kind: "resolveAction",
          target: { session: id, birth: null, load: false },
          input: { action, ...DENY },
        });
      const listed = async (limit: number) =>
        (await given.store.actions.list(id, limit))?.map(({ callId }) => callId);
      expect(await listed(10)).toEqual(["a", "b", "c", "d", "e"]);
      expect(await listed(3)).toEqual(["a", "b", "c", "d", "e"]);
      expect(await listed(2)).toEqual(["a", "c", "d", "e"]);
    });

    it("survive a restart", async () => {
      if (given.reopen === null) return;
      const asked = askOf("a");
      const { id } = await waiting(asked);
      const before = await everything(given.store, id);
      given.store = await given.reopen();
      await given.store.turns.releaseDeadLeases("me");
      expect(await everything(given.store, id)).toEqual(before);
      expect(await claim()).toEqual([]);
      expect(
        (
          await given.store.execute({
            kind: "resolveAction",
            target: { session: id, birth: null, load: false },
            input: { action: asked.id, ...APPROVE },
          })
        )?.outcome,
      ).toMatchObject({
        arrived: 1,
      });
      expect((await claim())[0]?.outcome?.openCalls).toMatchObject([{ id: "a" }]);
    });
  });
}
