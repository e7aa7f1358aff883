import { randomUUID } from "node:crypto";
import { approverRule } from "@colloquy/engine/internal/core/action";
import type { ActionAnswer, Approver, Decider } from "@colloquy/engine/internal/core/commands/decide-action";
import { describe, expect, it } from "../harness.ts";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  APPROVE,
  askOf,
  chatInput,
  chatWith,
  claimOf,
  claimTurns,
  callOf,
  decide,
  DENY,
  existing,
  identityOf,
  load,
  remove,
  step,
  target,
  waitFor,
} from "./fixtures/scenario.ts";

const REFUND = approverRule("default", "refund");
const CLOSE = approverRule("default", "close");
const manager = (rules = [REFUND], owner = "manager"): Approver => ({ owner, name: "Mia", rules });

function asking(rule = REFUND, owner: "may" | "may_not" = "may_not") {
  return askOf("a", { approvers: { rule, owner }, remindMs: 300_000 });
}

export function describeApprovers(openStore: OpenStore): void {
  describe("actions with approvers", () => {
    const given = givenStore(openStore, "all, without sessions");
    const list = (rules: readonly string[], more: object = {}) =>
      given.store.actions.forApprover({ rules, owner: "manager", after: null, limit: 10, ...more });
    const decideAs = async (decider: Decider, action: string, answer: ActionAnswer = APPROVE) => {
      const found = await given.store.actions.findForApprover(action);
      const committed = await decide(given.store, existing(found?.sessionId ?? ""), action, {
        ...answer,
        decider,
      });
      return committed?.outcome;
    };

    it("are listed by rule across all sessions, in pages, oldest first", async () => {
      const asked = [asking(), asking(CLOSE), asking(), asking(), askOf("a")];
      for (const one of asked) {
        await waitFor(given.store, one);
        await given.clock.advance(1);
      }
      const ids = (actions: readonly { readonly id: string }[]) => actions.map(({ id }) => id);
      const of = (...numbers: number[]) => numbers.map((number) => asked[number]?.id);
      expect(ids(await list([REFUND]))).toEqual(of(0, 2, 3));
      expect(ids(await list([CLOSE, REFUND]))).toEqual(of(0, 1, 2, 3));
      expect(await list([approverRule("other", "refund")])).toEqual([]);
      expect(await list([])).toEqual([]);
      const first = await list([CLOSE, REFUND], { limit: 2 });
      expect(ids(first)).toEqual(of(0, 1));
      const after = first.at(-1) ?? null;
      expect(ids(await list([CLOSE, REFUND], { limit: 2, after }))).toEqual(of(2, 3));
      await decideAs("operator", asked[2]?.id ?? "");
      expect(ids(await list([REFUND]))).toEqual(of(0, 3));
      await given.clock.advance(600_000);
      expect(await list([REFUND])).toEqual([]);
    });

    it("are listed without gaps if several were requested in the same millisecond", async () => {
      const asked = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const one = asking();
          await waitFor(given.store, one);
          return one.id;
        }),
      );
      const seen: string[] = [];
      for (let after = null; ; ) {
        const page = await list([REFUND], { limit: 2, after });
        seen.push(...page.map(({ id }) => id));
        after = page.at(-1) ?? null;
        if (after === null) break;
      }
      expect(seen.toSorted()).toEqual(asked.toSorted());
    });

    it("are decided by a user with their rule, whose name is in the decision", async () => {
      const asked = asking();
      const { id } = await waitFor(given.store, asked);
      expect(await decideAs(manager([CLOSE]), asked.id)).toEqual({ kind: "unknown" });
      expect(await decideAs("user", asked.id)).toEqual({ kind: "approver_required" });
      expect(await claimTurns(given.store)).toEqual([]);
      expect(await decideAs(manager(), asked.id, { ...DENY, comment: "Too much." })).toMatchObject({
        kind: "decided",
        action: { status: "denied" },
        unblocked: 1,
      });
      const { messages } = await load(given.store, id);
      expect(messages[1]?.toolCalls[0]?.decision).toMatchObject({
        status: "denied",
        by: "approver",
        name: "Mia",
        comment: "Too much.",
      });
      expect(messages[1]?.toolResults[0]?.output).toBe("An approver denied this call. Comment: Too much.");
    });

    it("are decided once if several approvers and the user decide", async () => {
      const asked = asking(REFUND, "may");
      await waitFor(given.store, asked);
      const outcomes = await Promise.all([
        decideAs(manager(), asked.id),
        decideAs("user", asked.id, DENY),
        decideAs(manager([REFUND], "another"), asked.id),
      ]);
      expect(outcomes.filter((outcome) => (outcome as { unblocked?: number }).unblocked === 1)).toHaveLength(
        1,
      );
      expect(await claimTurns(given.store, { count: 5 })).toHaveLength(1);
    });

    it("cannot be decided by the user who asked, unless the user may decide", async () => {
      for (const [owner, expected] of [
        ["may_not", "own_request"],
        ["may", "decided"],
      ] as const) {
        const asked = asking(REFUND, owner);
        const id = randomUUID();
        const user = { owner: "manager", apps: ["default"], takesNew: true };
        const { outcome } = await chatWith(
          given.store,
          { ...target(id), access: { apps: null, user } },
          chatInput("go", { claim: claimOf(), clientId: "manager" }),
        );
        if (outcome.kind !== "accepted" || outcome.started === null) throw new Error("not started");
        await given.store.execute({
          kind: "stepWithCalls",
          target: { turn: identityOf(outcome.started) },
          input: { step: step(1, ""), calls: [callOf("a", { effect: "unsafe" })], actions: [asked] },
        });
        expect((await list([REFUND])).map((action) => action.id)).toEqual(owner === "may" ? [asked.id] : []);
        expect(await decideAs(manager(), asked.id)).toMatchObject({ kind: expected });
        expect(await list([REFUND], { owner: "another" })).toHaveLength(owner === "may" ? 0 : 1);
        await remove(given.store, existing(id));
      }
    });

    it("are deleted with their session", async () => {
      const asked = asking();
      const { id } = await waitFor(given.store, asked);
      await remove(given.store, existing(id));
      expect(await list([REFUND])).toEqual([]);
      expect(await given.store.actions.findForApprover(asked.id)).toBeNull();
    });

    it("are the only actions that approvers find by id", async () => {
      const plain = askOf("a");
      await waitFor(given.store, plain);
      expect(await given.store.actions.findForApprover(plain.id)).toBeNull();
      expect(await given.store.actions.findForApprover(randomUUID())).toBeNull();
    });

    it("emit one reminder, and expire without a decision", async () => {
      const asked = asking();
      const { id } = await waitFor(given.store, asked);
      await given.clock.advance(299_999);
      expect(await given.store.actions.isAnyDue()).toBe(false);
      await given.clock.advance(1);
      expect(await given.store.actions.isAnyDue()).toBe(true);
      const [reminded] = await given.store.executeEach({ kind: "expireActions", limit: 10 });
      expect(reminded?.outcome).toEqual({ unblocked: 0 });
      expect(reminded?.events.map(({ event }) => event)).toMatchObject([
        {
          type: "system_event",
          item: { type: "action_reminder", payload: { id: asked.id, tool: "tool_a" } },
        },
      ]);
      expect(await given.store.actions.isAnyDue()).toBe(false);
      expect(await given.store.executeEach({ kind: "expireActions", limit: 10 })).toEqual([]);
      expect((await load(given.store, id)).pendingActions).toMatchObject([{ id: asked.id, remindAt: null }]);
      await given.clock.advance(300_000);
      await given.store.executeEach({ kind: "expireActions", limit: 10 });
      const { messages } = await load(given.store, id);
      expect(messages[1]?.toolResults[0]?.output).toBe(
        "No approver answered in time, so this call was not made.",
      );
      expect(messages[1]?.toolCalls[0]?.decision).toMatchObject({ status: "expired", by: null });
    });

    it("emit no reminder after the decision", async () => {
      const asked = asking();
      await waitFor(given.store, asked);
      await decideAs(manager(), asked.id);
      await given.clock.advance(300_000);
      expect(await given.store.actions.isAnyDue()).toBe(false);
    });
  });
}
