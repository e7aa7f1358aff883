import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  existing,
  remove,
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
  everything,
  types,
} from "./fixtures/scenario.ts";

export function describeActions(openStore: OpenStore): void {
  describe("actions that wait for a person", () => {
    const given = givenStore(openStore, "all, without sessions");

    it("are stored with the step that requests them, and shown until decided", async () => {
      const id = randomUUID();
      const turn = identityOf(await startTurn(given.store, id, "go"));
      const [first, second] = [askOf("a"), askOf("b")];
      const committed = await given.store.execute({
        kind: "stepWithCalls",
        target: { turn },
        input: { step: step(1, "Let me ask."), calls: [callOf("a"), callOf("b")], actions: [first, second] },
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
      await decide(given.store, existing(id), first.id, DENY);
      expect((await load(given.store, id)).pendingActions.map(({ id }) => id)).toEqual([second.id]);
      expect(await given.store.actions.list(id, 10)).toMatchObject([
        { id: first.id, status: "denied", resolvedAt: given.clock.now() },
        { id: second.id, status: "pending" },
      ]);
    });

    it("are decided once: repeating the decision returns the same result, and a different decision is a conflict", async () => {
      const asked = askOf("a");
      const { id } = await waitFor(given.store, asked);
      const answers = await Promise.all([
        decide(given.store, existing(id), asked.id, APPROVE),
        decide(given.store, existing(id), asked.id, DENY),
        decide(given.store, existing(id), asked.id, APPROVE),
      ]);
      expect(answers.map((answer) => answer?.outcome)).toMatchObject([
        { kind: "decided", action: { status: "approved" }, unblocked: 1 },
        { kind: "decided_otherwise" },
        { kind: "decided", action: { status: "approved" }, unblocked: 0 },
      ]);
      const before = await everything(given.store, id);
      await decide(given.store, existing(id), asked.id, { decision: "approve", result: { more: 1 } });
      await decide(given.store, existing(id), asked.id, DENY);
      expect(await everything(given.store, id)).toEqual(before);
      expect(await claimTurns(given.store, { count: 5 })).toHaveLength(1);
    });

    it("belong to one incarnation of one session", async () => {
      const asked = askOf("a");
      const { id } = await waitFor(given.store, asked);
      const other = randomUUID();
      await startTurn(given.store, other, "other");
      expect((await decide(given.store, existing(other), asked.id, APPROVE))?.outcome).toEqual({
        kind: "unknown",
      });
      expect(await decide(given.store, existing(randomUUID()), asked.id, APPROVE)).toBeNull();
      expect(await given.store.actions.list(randomUUID(), 10)).toBeNull();
      expect(await given.store.actions.list(other, 10)).toEqual([]);
      await remove(given.store, existing(id));
      await chat(given.store, id, "a new life");
      expect((await decide(given.store, existing(id), asked.id, APPROVE))?.outcome).toEqual({
        kind: "unknown",
      });
      expect(await given.store.actions.list(id, 10)).toEqual([]);
      await given.clock.advance(600_000);
      expect(await given.store.actions.isAnyDue()).toBe(false);
    });

    it("expire in batches of a few sessions, the earliest first", async () => {
      const ids: string[] = [];
      for (let index = 0; index < 3; index += 1) {
        ids.push((await waitFor(given.store, askOf("a"), askOf("b", { validMs: 600_000 + index }))).id);
        await given.clock.advance(1);
      }
      await given.clock.advance(600_000 - 4);
      expect(await given.store.actions.isAnyDue()).toBe(false);
      expect(await given.store.executeEach({ kind: "expireActions", limit: 10 })).toEqual([]);
      await given.clock.advance(1);
      expect(await given.store.actions.isAnyDue()).toBe(true);
      const [first, ...more] = await given.store.executeEach({ kind: "expireActions", limit: 10 });
      expect(more).toEqual([]);
      expect(first).toMatchObject({ session: { id: ids[0] }, outcome: { unblocked: 1 } });
      await given.clock.advance(4);
      const rest = [
        await given.store.executeEach({ kind: "expireActions", limit: 1 }),
        await given.store.executeEach({ kind: "expireActions", limit: 1 }),
      ];
      expect(rest.flat().map(({ session }) => session.id)).toEqual(ids.slice(1));
      expect(await given.store.actions.isAnyDue()).toBe(false);
      expect(await given.store.executeEach({ kind: "expireActions", limit: 10 })).toEqual([]);
      expect((await claimTurns(given.store, { count: 5 })).map(({ session }) => session.id)).toEqual(ids);
    });

    it("are cancelled by an interrupt and by a failure", async () => {
      const asked = askOf("a");
      const { id } = await waitFor(given.store, asked);
      await given.store.execute({
        kind: "interrupt",
        target: { session: id, birth: null, load: false, access: null },
        input: { streamed: null },
      });
      const { messages, session, pendingActions } = await load(given.store, id);
      expect([session.status, pendingActions]).toEqual(["interrupted", []]);
      expect(messages[1]).toMatchObject({
        content: "Let me ask.",
        status: "interrupted",
        toolResults: [{ call_id: "a", output: "interrupted" }],
      });
      expect((await decide(given.store, existing(id), asked.id, APPROVE))?.outcome).toEqual({
        kind: "cancelled",
      });
      const turn = await startTurn(given.store, id, "again");
      const another = askOf("b");
      await given.store.execute({
        kind: "stepWithCalls",
        target: { turn: identityOf(turn) },
        input: { step: step(1, ""), calls: [callOf("b")], actions: [another] },
      });
      await given.store.execute({
        kind: "fail",
        target: { turn: identityOf(turn) },
        input: { text: "", failure: { code: "model_error", message: "m" } },
      });
      expect((await decide(given.store, existing(id), another.id, DENY))?.outcome).toEqual({
        kind: "cancelled",
      });
      await given.clock.advance(600_000);
      expect(await given.store.actions.isAnyDue()).toBe(false);
    });

    it("are all listed while pending; of the others, only the most recent are listed", async () => {
      const asked = ["a", "b", "c", "d", "e"].map((call) => askOf(call));
      const { id } = await waitFor(given.store, ...asked);
      for (const { id: action } of asked.slice(1, 4)) await decide(given.store, existing(id), action, DENY);
      const listed = async (limit: number) =>
        (await given.store.actions.list(id, limit))?.map(({ callId }) => callId);
      expect(await listed(10)).toEqual(["a", "b", "c", "d", "e"]);
      expect(await listed(3)).toEqual(["a", "b", "c", "d", "e"]);
      expect(await listed(2)).toEqual(["a", "c", "d", "e"]);
    });

    it("survive a restart", async () => {
      if (given.reopen === null) return;
      const asked = askOf("a");
      const { id } = await waitFor(given.store, asked);
      const before = await everything(given.store, id);
      given.store = await given.reopen();
      await given.store.turns.releaseDeadLeases("me");
      expect(await everything(given.store, id)).toEqual(before);
      expect(await claimTurns(given.store)).toEqual([]);
      expect((await decide(given.store, existing(id), asked.id, APPROVE))?.outcome).toMatchObject({
        unblocked: 1,
      });
      expect((await claimTurns(given.store))[0]?.outcome?.openCalls).toMatchObject([{ id: "a" }]);
    });
  });
}
