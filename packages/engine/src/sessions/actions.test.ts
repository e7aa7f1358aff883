// Pending actions through the whole service: what clients see, and decisions.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FoldingReader } from "../../../server/test/folding-reader.ts";
import { losingAnswerOf } from "../../../server/test/intercepted-store.ts";
import { lines, newId, until } from "../../../server/test/service.ts";
import { ApprovalTurn, MINUTE } from "./testing/approval-turn.ts";
import { ANONYMOUS } from "../core/session-access.ts";

let turn: ApprovalTurn;
beforeEach(async () => {
  turn = await ApprovalTurn.open();
});
afterEach(() => turn.close());

describe("a turn that asks for approval", () => {
  it("shows the request, and runs the tool with that input after the approval", async () => {
    const reader = new FoldingReader(turn.service, turn.id);
    await reader.connect();
    await turn.waiting();
    const asking = await turn.snapshot();
    expect(asking).toMatchObject({
      is_processing: true,
      status: "processing",
      pending_actions: [
        {
          kind: "approval",
          tool: "charge",
          call_id: "c1",
          expires_at: new Date(turn.clock.now() + 10 * MINUTE).toISOString(),
          request: { tool: "charge", input: { amount: 7 } },
        },
      ],
    });
    expect(turn.charged).toEqual([]);
    expect(reader.snapshot).toEqual(asking);
    expect(await turn.decide("approve")).toMatchObject({
      status: "approved",
      resolved_at: expect.any(String),
    });
    expect(await turn.resultTold()).toContain('"value":{"charged":7}');
    expect(turn.charged).toEqual([{ amount: 7 }]);
    const done = await turn.snapshot();
    expect(lines(done.messages)).toEqual([
      "user complete: charge me",
      "agent complete: Let me see.\n\nDone.",
    ]);
    expect(done.pending_actions).toEqual([]);
    expect(done.messages[1]?.tool_results).toMatchObject([{ call_id: "c1", output: { charged: 7 } }]);
    expect(reader.snapshot).toEqual(done);
    expect(reader.faults).toEqual([]);
  });

  it("tells the model about a denial, and does not run the tool", async () => {
    await turn.waiting();
    await turn.decide("deny");
    expect(await turn.resultTold()).toContain("The user denied this call.");
    expect(turn.charged).toEqual([]);
  });

  it("is denied at its expiry, without a write before", async () => {
    await turn.waiting();
    await turn.service.pass(10 * MINUTE - 1_000);
    expect(await turn.pending()).toHaveLength(1);
    expect(turn.calls).toContain("actions.isAnyDue");
    expect(turn.calls).not.toContain("expireActions");
    await turn.service.pass(1_000);
    expect(await turn.resultTold()).toContain("did not answer in time");
    expect(turn.charged).toEqual([]);
  });

  it("can be decided while other calls of its step still run", async () => {
    const held = Promise.withResolvers<void>();
    turn.gate = held.promise;
    await turn.service.say(turn.id, "go");
    (await turn.service.model.next())
      .callTool("calculator", { expression: "1+1" }, "c1")
      .callTool("slow", {}, "c2")
      .callTool("charge", { amount: 7 }, "c3")
      .finish("tool-calls");
    await until(async () => (await turn.pending()).length === 2);
    const [first, second] = await turn.pending();
    await turn.service.actions.decide(turn.id, second!.id, { decision: "deny", result: null }, null);
    await turn.service.actions.decide(turn.id, first!.id, { decision: "approve", result: null }, null);
    await turn.service.pass(5_000);
    expect((await turn.snapshot()).messages[1]?.tool_results).toMatchObject([
      { call_id: "c3", is_error: true },
    ]);
    held.resolve();
    const told = await turn.resultTold();
    expect([...told.matchAll(/"toolCallId":"(..)"/g)].map(([, call]) => call)).toEqual(["c1", "c2", "c3"]);
    expect(told).toContain('"result":2');
    expect(told).toContain("at last");
    expect(turn.charged).toEqual([]);
  });
});

describe("a decision whose result is lost after the commit", () => {
  it("resumes its turn, is shown, and can be repeated", async () => {
    await turn.waiting();
    const [action] = await turn.pending();
    turn.lost = losingAnswerOf("decideAction", turn.service.store);
    const approve = { decision: "approve", result: null } as const;
    const answer = turn.service.actions.decide(turn.id, action!.id, approve, null);
    await expect(answer).rejects.toMatchObject({ code: "outcome_unknown" });
    expect(await turn.pending()).toEqual([]);
    expect(await turn.service.actions.decide(turn.id, action!.id, approve, null)).toMatchObject({
      status: "approved",
    });
    expect(await turn.resultTold()).toContain('"value":{"charged":7}');
    expect(turn.charged).toHaveLength(1);
  });
});

describe("a decision", () => {
  it("is rejected if its result does not fit, and changes nothing", async () => {
    await turn.waiting();
    const before = await turn.snapshot();
    const [action] = await turn.pending();
    const answered = (answer: object, session = turn.id, actionId = action!.id) =>
      turn.service.actions.decide(session, actionId, { decision: "approve", result: null, ...answer }, null);
    await expect(answered({ result: { answer: "yes" } })).rejects.toMatchObject({
      status: 400,
      code: "action_result_invalid",
      detail: expect.stringContaining("absent"),
    });
    const other = newId();
    await expect(answered({}, other)).rejects.toMatchObject({ status: 404, code: "action_not_found" });
    expect(await turn.service.store.sessions.find(other)).toBeNull();
    await expect(answered({}, turn.id, "nonsense")).rejects.toMatchObject({ status: 404 });
    expect(await turn.snapshot()).toEqual(before);
  });

  it("counts once among concurrent decisions", async () => {
    await turn.waiting();
    const [action] = await turn.pending();
    const answers = await Promise.allSettled(
      (["approve", "deny", "approve", "deny"] as const).map((decision) =>
        turn.service.actions.decide(turn.id, action!.id, { decision, result: null }, null),
      ),
    );
    expect(
      answers.map((answer) => (answer.status === "fulfilled" ? answer.value.status : answer.reason.status)),
    ).toEqual(["approved", 409, "approved", 409]);
    await turn.resultTold();
    expect(turn.charged).toHaveLength(1);
  });

  it("is rejected after the expiry, whether or not the expiry was processed", async () => {
    await turn.service.close();
    await turn.start({ maxRunning: 1 });
    await turn.waiting();
    const [action] = await turn.pending();
    const late = () =>
      turn.service.actions.decide(turn.id, action!.id, { decision: "approve", result: null }, null);
    await turn.service.actionExpiry.stop();
    await turn.clock.advance(10 * MINUTE);
    await expect(late()).rejects.toMatchObject({ status: 410, code: "action_expired" });
    expect(await turn.resultTold()).toContain("did not answer in time");
    await expect(late()).rejects.toMatchObject({ status: 410, code: "action_expired" });
    expect(await turn.service.actions.list(turn.id, ANONYMOUS, null)).toMatchObject([{ status: "expired" }]);
  });
});
