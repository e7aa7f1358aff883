// Turns with a pending action: the resources that they hold, and their state after a crash.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FoldingReader } from "../../../server/test/folding-reader.ts";
import { lines, newId, parse, until } from "../../../server/test/service.ts";
import { ApprovalTurn, MINUTE } from "./testing/approval-turn.ts";
import { ANONYMOUS } from "../core/session-access.ts";

let turn: ApprovalTurn;
beforeEach(async () => {
  turn = await ApprovalTurn.open();
});
afterEach(() => turn.close());

/** Gets the state with `Prefer: wait`. */
async function waitingState() {
  const { signal } = new AbortController();
  const request = { sessionId: turn.id, access: ANONYMOUS, userState: null, waitMs: MINUTE, signal };
  return parse(await turn.service.conversations.state(request, null));
}

describe("a turn that waits for a person", () => {
  it("holds no lease, slot or memory, and clients see no difference", async () => {
    await turn.service.close();
    await turn.start({ maxRunning: 1 });
    await turn.waiting();
    const request = {
      sessionId: turn.id,
      access: ANONYMOUS,
      userState: null,
      waitMs: 0,
      signal: new AbortController().signal,
    };
    const before = await turn.service.conversations.state(request, null);
    const other = newId();
    await turn.service.say(other, "hello");
    (await turn.service.model.next()).say("Hi").finish();
    await until(async () => !(await turn.service.snapshot(other)).is_processing);
    expect(await turn.service.store.turns.renew(turn.service.owner, [1, 2, 3, 4], 10_000)).toEqual({
      renewed: [],
      busy: [],
    });
    await turn.restart({ maxRunning: 1, memoryBytes: 0, actionMs: 10 * MINUTE });
    const after = await turn.service.conversations.state(request, null);
    expect(Buffer.concat(after.parts).toString()).toBe(Buffer.concat(before.parts).toString());
    expect(turn.service.registry.inMemory(turn.id)).toBeNull();
    await turn.decide("approve");
    expect(await turn.resultTold()).toContain('"charged":7');
  });

  it("evicts the session if it is not used", async () => {
    await turn.service.close();
    await turn.start({ actionMs: 120 * MINUTE });
    await turn.waiting();
    await turn.service.evict();
    expect(turn.service.registry.inMemory(turn.id)).toBeNull();
    expect(await turn.pending()).toHaveLength(1);
  });

  it("drops the feed's text of an evicted session, and restores it for subscribers", async () => {
    await turn.service.close();
    await turn.start({ actionMs: 120 * MINUTE });
    const reader = new FoldingReader(turn.service, turn.id);
    await reader.connect();
    await turn.service.say(turn.id, "charge me");
    const call = await turn.service.model.next();
    call.say("Let me see.").callTool("charge", { amount: 7 }, "c1").callTool("charge", { amount: 8 }, "c2");
    call.finish("tool-calls");
    await until(() => turn.calls.includes("wait"));
    await turn.service.store.probe();
    const [first, second] = await turn.pending();
    expect(turn.service.feed.heldTexts).toBe(1);
    await turn.service.evict();
    expect(turn.service.feed.heldTexts).toBe(0);
    const approve = { decision: "approve", result: null } as const;
    await turn.service.actions.decide(turn.id, first!.id, approve, null);
    expect(turn.service.registry.inMemory(turn.id)).toBeNull();
    expect(turn.service.feed.heldTexts).toBe(0);
    await turn.service.actions.decide(turn.id, second!.id, approve, null);
    (await turn.service.model.next()).say("Charged");
    await until(async () => (await turn.snapshot()).messages[1]?.content.endsWith("Charged") === true);
    expect(turn.service.feed.heldTexts).toBe(1);
    const shown = await turn.snapshot();
    await until(() => reader.snapshot?.messages[1]?.content === shown.messages[1]?.content);
    expect(reader.snapshot).toEqual(shown);
    expect(reader.faults).toEqual([]);
  });

  it("drops the feed's text of a session that does not fit into memory", async () => {
    await turn.waiting();
    await turn.restart({ memoryBytes: 0 });
    expect(await turn.pending()).toHaveLength(1);
    expect(turn.service.registry.inMemory(turn.id)).toBeNull();
    expect(turn.service.feed.heldTexts).toBe(0);
  });

  it("does not count towards time limits, and resets the attempts", async () => {
    const limits = { turnMs: 5_000, idleMs: 3_000, actionMs: MINUTE };
    await turn.service.close();
    await turn.start(limits);
    await turn.service.say(turn.id, "charge me");
    await turn.service.model.next();
    await turn.restart(limits);
    await turn.service.model.next();
    await turn.restart(limits);
    (await turn.service.model.next()).callTool("charge", { amount: 7 }, "c1").finish("tool-calls");
    await until(async () => (await turn.pending()).length === 1);
    await turn.service.pass(30_000);
    for (let crash = 0; crash < 3; crash += 1) await turn.restart(limits);
    expect(await turn.pending()).toHaveLength(1);
    await turn.decide("approve");
    await turn.service.model.next();
    await turn.restart(limits);
    expect(await turn.resultTold()).toContain('"charged":7');
    expect(turn.charged).toHaveLength(1);
  });

  it("adds up its running time over approvals and crashes, and enforces the limit", async () => {
    const limits = { turnMs: 5_000, idleMs: 60_000, actionMs: MINUTE };
    await turn.service.close();
    await turn.start(limits);
    await turn.service.say(turn.id, "charge me");
    for (let asked = 1; asked <= 2; asked += 1) {
      const call = await turn.service.model.next();
      await turn.service.pass(1_000);
      call.callTool("charge", { amount: asked }, `c${asked}`).finish("tool-calls");
      await until(async () => (await turn.pending()).length === 1);
      await until(() => turn.calls.includes("wait"));
      turn.calls = [];
      await turn.service.pass(30_000);
      await turn.decide("approve");
    }
    await turn.service.model.next();
    await turn.service.pass(1_000);
    await turn.restart(limits);
    await turn.service.model.next();
    await turn.service.pass(1_000);
    expect(await turn.idle()).toBe(false);
    await turn.service.pass(1_000);
    await until(turn.idle);
    const { messages, system_events } = await turn.snapshot();
    expect(messages[1]?.status).toBe("failed");
    expect(system_events.at(-1)?.payload["code"]).toBe("turn_timeout");
    expect(turn.charged).toEqual([{ amount: 1 }, { amount: 2 }]);
  });

  it("cancels the action on an interrupt", async () => {
    await turn.waiting();
    const [action] = await turn.pending();
    const sealed = parse(await turn.service.conversations.interrupt(turn.id, ANONYMOUS, null));
    expect(sealed).toMatchObject({ status: "interrupted", pending_actions: [] });
    expect(sealed.messages[1]).toMatchObject({
      status: "interrupted",
      tool_results: [{ output: "interrupted" }],
    });
    await expect(
      turn.service.actions.decide(turn.id, action!.id, { decision: "approve", result: null }, null),
    ).rejects.toMatchObject({ status: 409, code: "action_cancelled" });
    expect(await turn.service.actions.list(turn.id, ANONYMOUS, null)).toMatchObject([
      { status: "cancelled" },
    ]);
    await turn.service.clock.advance(11 * MINUTE);
    await turn.service.pass(1_000);
    expect(turn.charged).toEqual([]);
    expect(await turn.snapshot()).toEqual(sealed);
  });

  it("removes the action with the session, and leaves nothing to the next incarnation", async () => {
    await turn.waiting();
    const [action] = await turn.pending();
    await turn.service.threads.remove(turn.id, null);
    await expect(
      turn.service.actions.decide(turn.id, action!.id, { decision: "approve", result: null }, null),
    ).rejects.toMatchObject({ status: 404 });
    expect(await turn.service.store.sessions.find(turn.id)).toBeNull();
    await turn.service.threads.create(turn.id, null, ANONYMOUS, null);
    expect((await turn.snapshot()).pending_actions).toEqual([]);
    expect(await turn.service.actions.list(turn.id, ANONYMOUS, null)).toEqual([]);
    await expect(
      turn.service.actions.decide(turn.id, action!.id, { decision: "approve", result: null }, null),
    ).rejects.toMatchObject({ status: 404, code: "action_not_found" });
    await turn.service.clock.advance(11 * MINUTE);
    await turn.service.pass(1_000);
    expect(turn.service.model.waitingCalls).toBe(0);
  });

  it("does not count the messages behind it as waiting until it resumes", async () => {
    await turn.service.close();
    await turn.start({ maxRunning: 1, maxWaiting: 4 });
    await turn.waiting();
    for (const text of ["one", "two", "three", "four", "five"]) {
      await turn.service.say(turn.id, text);
      await turn.service.clock.advance(2_000);
    }
    const other = newId();
    await turn.service.say(other, "hello");
    (await turn.service.model.next()).say("Hi").finish();
    await until(async () => !(await turn.service.snapshot(other)).is_processing);
    await turn.service.clock.advance(2_000);
    await turn.decide("deny");
    await turn.service.model.next();
    await turn.service.clock.advance(1_000);
    await expect(turn.service.say(other, "again")).rejects.toMatchObject({ code: "too_many_waiting" });
  });

  it("queues messages behind it", async () => {
    await turn.waiting();
    await turn.service.say(turn.id, "and then?");
    expect(lines((await turn.snapshot()).messages)).toEqual([
      "user complete: charge me",
      "agent streaming: Let me see.",
      "user queued: and then?",
    ]);
    await turn.decide("deny");
    (await turn.service.model.next()).say("One.").finish();
    (await turn.service.model.next()).say("Two.").finish();
    await until(turn.idle);
    expect(lines((await turn.snapshot()).messages).slice(2)).toEqual([
      "user complete: and then?",
      "agent complete: Two.",
    ]);
  });

  it("ends the waits of requests when it requests a decision, even of a chat whose session was evicted", async () => {
    const answers = [turn.service.say(turn.id, "charge me", { waitMs: MINUTE })];
    const call = await turn.service.model.next();
    answers.push(waitingState());
    await until(() => turn.service.registry.inMemory(turn.id)?.hasWaiters === true);
    turn.service.registry.invalidate(turn.id);
    call.callTool("charge", { amount: 7 }, "c1").finish("tool-calls");
    for (const { is_processing, pending_actions } of await Promise.all(answers)) {
      expect([is_processing, pending_actions.map(({ kind }) => kind)]).toEqual([true, ["approval"]]);
    }
  });

  it("does not end the waits of later requests, until it requests another decision", async () => {
    await turn.waiting();
    const answers = [waitingState(), turn.service.say(turn.id, "and then?", { waitMs: MINUTE })];
    await until(() => turn.service.registry.inMemory(turn.id)?.hasWaiters === true);
    const [first] = await turn.pending();
    await turn.decide("deny");
    (await turn.service.model.next()).callTool("charge", { amount: 8 }, "c2").finish("tool-calls");
    for (const { pending_actions } of await Promise.all(answers)) {
      expect(pending_actions).toHaveLength(1);
      expect(pending_actions[0]?.id).not.toBe(first?.id);
    }
  });

  it("keeps requests waiting until the session stops processing", async () => {
    await turn.waiting();
    const answer = waitingState();
    await until(() => turn.service.registry.inMemory(turn.id)?.hasWaiters === true);
    await turn.decide("deny");
    (await turn.service.model.next()).say("Then not.").finish();
    expect(lines((await answer).messages)[1]).toBe("agent complete: Let me see.\n\nThen not.");
  });
});

describe("a crash", () => {
  it("loses nothing between the decision and the claim: the tool runs once", async () => {
    await turn.waiting();
    await turn.restart({ maxRunning: 0 });
    await turn.decide("approve");
    await turn.restart();
    expect(await turn.resultTold()).toContain('"charged":7');
    expect(turn.charged).toEqual([{ amount: 7 }]);
  });

  it("does not repeat an approved tool with side effects", async () => {
    turn.gate = new Promise(() => undefined);
    await turn.waiting();
    await turn.decide("approve");
    await until(() => turn.charged.length === 1);
    turn.gate = Promise.resolve();
    await turn.restart();
    expect(await turn.resultTold()).toContain("outcome unknown");
    expect(turn.charged).toHaveLength(1);
  });

  it("keeps the action while other calls of the step run", async () => {
    turn.gate = new Promise(() => undefined);
    await turn.service.say(turn.id, "go");
    (await turn.service.model.next())
      .callTool("calculator", { expression: "1+1" }, "c1")
      .callTool("slow", {}, "c2")
      .finish("tool-calls");
    await until(async () => (await turn.pending()).length === 1);
    const before = await turn.pending();
    turn.gate = Promise.resolve();
    await turn.restart();
    expect(await turn.pending()).toEqual(before);
    await turn.decide("approve");
    expect(await turn.resultTold()).toContain('"result":2');
  });
});
