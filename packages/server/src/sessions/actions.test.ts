// Pending actions through the whole service: what clients see, what is held meanwhile, what survives.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Config } from "../config/config.ts";
import { type BeforeCall, losingAnswerOf } from "../../test/intercepted-store.ts";
import { ManualClock } from "../../test/manual-clock.ts";
import { FoldingReader } from "../../test/folding-reader.ts";
import { lines, newId, parse, startService, until, type TestService } from "../../test/service.ts";

const MINUTE = 60_000;

let directory: string;
let clock: ManualClock;
let service: TestService;
/** Inputs of the runs of the tool with side effects. */
let charged: unknown[];
/** Gates of the tool with side effects and of the slow tool. */
let gate: Promise<unknown>;
/** Names of store calls. */
let calls: string[];
let id: string;
let lost: BeforeCall;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-"));
  clock = new ManualClock();
  charged = [];
  gate = Promise.resolve();
  id = newId();
  await start();
});
afterEach(async () => {
  await service.close();
  await rm(directory, { recursive: true });
});

async function start(limits: Partial<Config["limits"]> = {}): Promise<void> {
  calls = [];
  lost = () => undefined;
  service = await startService({
    directory,
    clock,
    beforeCall: (method, parameters) => {
      calls.push(method);
      return lost(method, parameters);
    },
    adjust: (config) => ({
      ...config,
      limits: { ...config.limits, ...limits },
      apps: { default: withTools(config.apps["default"]!) },
    }),
  });
}

/** An App with a tool with side effects and the calculator, which need approval, and a slow tool without it. */
function withTools(app: Config["apps"][string]): Config["apps"][string] {
  const charge = {
    description: "Charges a card",
    inputSchema: z.object({ amount: z.number() }),
    execute: async (input: { amount: number }) => {
      charged.push(input);
      await gate;
      return { charged: input.amount };
    },
  };
  const slow = {
    description: "Takes its time",
    inputSchema: z.object({}),
    execute: async () => {
      await gate;
      return "at last";
    },
  };
  const approvals = { charge: "always", calculator: "always" } as const;
  const effects = { charge: "unsafe", slow: "read" } as const;
  return { ...app, tools: { ...app.tools, own: { charge, slow }, effects, approvals } };
}

async function restart(limits: Partial<Config["limits"]> = {}): Promise<void> {
  await service.crash();
  await start(limits);
}

const snapshot = () => service.snapshot(id);
const idle = async (): Promise<boolean> => !(await snapshot()).is_processing;
const decide = async (decision: "approve" | "deny", result = null): Promise<unknown> =>
  await service.actions.decide(id, (await pending())[0]!.id, { decision, result });
const pending = async () => (await snapshot()).pending_actions;

/** Starts a turn that calls the tool and waits. */
async function waiting(input: object = { amount: 7 }): Promise<void> {
  await service.say(id, "charge me");
  (await service.model.next()).say("Let me see.").callTool("charge", input, "c1").finish("tool-calls");
  await until(() => calls.includes("wait"));
  await until(
    () => service.registry.inMemory(id) === null || service.registry.inMemory(id)!.hasPendingActions,
  );
  await service.store.probe();
}

/** Returns the result of the call as the model sees it. */
async function resultTold(): Promise<string> {
  const call = await service.model.next();
  const told = call.prompt.at(-1) ?? "";
  call.say("Done.").finish();
  await until(idle);
  return told;
}

describe("a turn that asks for approval", () => {
  it("shows the request, and runs the tool with that input after the approval", async () => {
    const reader = new FoldingReader(service, id);
    await reader.connect();
    await waiting();
    const asking = await snapshot();
    expect(asking).toMatchObject({
      is_processing: true,
      status: "processing",
      pending_actions: [
        {
          kind: "approval",
          tool: "charge",
          call_id: "c1",
          expires_at: new Date(clock.now() + 10 * MINUTE).toISOString(),
          request: { tool: "charge", input: { amount: 7 } },
        },
      ],
    });
    expect(charged).toEqual([]);
    expect(reader.snapshot).toEqual(asking);
    expect(await decide("approve")).toMatchObject({ status: "approved", resolved_at: expect.any(String) });
    expect(await resultTold()).toContain('"value":{"charged":7}');
    expect(charged).toEqual([{ amount: 7 }]);
    const done = await snapshot();
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
    await waiting();
    await decide("deny");
    expect(await resultTold()).toContain("The user denied this call.");
    expect(charged).toEqual([]);
  });

  it("is denied at its expiry, without a write before", async () => {
    await waiting();
    await service.pass(10 * MINUTE - 1_000);
    expect(await pending()).toHaveLength(1);
    expect(calls).toContain("actions.isAnyDue");
    expect(calls).not.toContain("expireActions");
    await service.pass(1_000);
    expect(await resultTold()).toContain("did not answer in time");
    expect(charged).toEqual([]);
  });

  it("can be decided while other calls of its step still run", async () => {
    const held = Promise.withResolvers<void>();
    gate = held.promise;
    await service.say(id, "go");
    (await service.model.next())
      .callTool("calculator", { expression: "1+1" }, "c1")
      .callTool("slow", {}, "c2")
      .callTool("charge", { amount: 7 }, "c3")
      .finish("tool-calls");
    await until(async () => (await pending()).length === 2);
    const [first, second] = await pending();
    await service.actions.decide(id, second!.id, { decision: "deny", result: null });
    await service.actions.decide(id, first!.id, { decision: "approve", result: null });
    await service.pass(5_000);
    expect((await snapshot()).messages[1]?.tool_results).toMatchObject([{ call_id: "c3", is_error: true }]);
    held.resolve();
    const told = await resultTold();
    expect([...told.matchAll(/"toolCallId":"(..)"/g)].map(([, call]) => call)).toEqual(["c1", "c2", "c3"]);
    expect(told).toContain('"result":2');
    expect(told).toContain("at last");
    expect(charged).toEqual([]);
  });
});

describe("a decision whose result is lost after the commit", () => {
  it("resumes its turn, is shown, and can be repeated", async () => {
    await waiting();
    const [action] = await pending();
    lost = losingAnswerOf("resolveAction", service.store);
    const approve = { decision: "approve", result: null } as const;
    const answer = service.actions.decide(id, action!.id, approve);
    await expect(answer).rejects.toMatchObject({ code: "outcome_unknown" });
    expect(await pending()).toEqual([]);
    expect(await service.actions.decide(id, action!.id, approve)).toMatchObject({ status: "approved" });
    expect(await resultTold()).toContain('"value":{"charged":7}');
    expect(charged).toHaveLength(1);
  });
});

describe("a turn that waits for a person", () => {
  it("holds no lease, slot or memory, without a visible difference", async () => {
    await service.close();
    await start({ maxRunning: 1 });
    await waiting();
    const request = { sessionId: id, userState: null, waitMs: 0, signal: new AbortController().signal };
    const before = await service.conversations.state(request, null);
    const other = newId();
    await service.say(other, "hello");
    (await service.model.next()).say("Hi").finish();
    await until(async () => !(await service.snapshot(other)).is_processing);
    expect(await service.store.turns.renew("anybody", [1, 2, 3, 4], 10_000)).toEqual({
      renewed: [],
      busy: [],
    });
    await restart({ maxRunning: 1, memoryBytes: 0, actionMs: 10 * MINUTE });
    const after = await service.conversations.state(request, null);
    expect(Buffer.concat(after.parts).toString()).toBe(Buffer.concat(before.parts).toString());
    expect(service.registry.inMemory(id)).toBeNull();
    await decide("approve");
    expect(await resultTold()).toContain('"charged":7');
  });

  it("evicts the session if it is not used", async () => {
    await service.close();
    await start({ actionMs: 120 * MINUTE });
    await waiting();
    await service.evict();
    expect(service.registry.inMemory(id)).toBeNull();
    expect(await pending()).toHaveLength(1);
  });

  it("drops the feed's text of an evicted session, and restores it for subscribers", async () => {
    await service.close();
    await start({ actionMs: 120 * MINUTE });
    const reader = new FoldingReader(service, id);
    await reader.connect();
    await service.say(id, "charge me");
    const call = await service.model.next();
    call.say("Let me see.").callTool("charge", { amount: 7 }, "c1").callTool("charge", { amount: 8 }, "c2");
    call.finish("tool-calls");
    await until(() => calls.includes("wait"));
    await service.store.probe();
    const [first, second] = await pending();
    expect(service.feed.heldTexts).toBe(1);
    await service.evict();
    expect(service.feed.heldTexts).toBe(0);
    const approve = { decision: "approve", result: null } as const;
    await service.actions.decide(id, first!.id, approve);
    expect(service.registry.inMemory(id)).toBeNull();
    expect(service.feed.heldTexts).toBe(0);
    await service.actions.decide(id, second!.id, approve);
    (await service.model.next()).say("Charged");
    await until(async () => (await snapshot()).messages[1]?.content.endsWith("Charged") === true);
    expect(service.feed.heldTexts).toBe(1);
    const shown = await snapshot();
    await until(() => reader.snapshot?.messages[1]?.content === shown.messages[1]?.content);
    expect(reader.snapshot).toEqual(shown);
    expect(reader.faults).toEqual([]);
  });

  it("drops the feed's text of a session that does not fit into memory", async () => {
    await waiting();
    await restart({ memoryBytes: 0 });
    expect(await pending()).toHaveLength(1);
    expect(service.registry.inMemory(id)).toBeNull();
    expect(service.feed.heldTexts).toBe(0);
  });

  it("counts towards no time limit, and resets the attempts", async () => {
    const limits = { turnMs: 5_000, idleMs: 3_000, actionMs: MINUTE };
    await service.close();
    await start(limits);
    await service.say(id, "charge me");
    await service.model.next();
    await restart(limits);
    await service.model.next();
    await restart(limits);
    (await service.model.next()).callTool("charge", { amount: 7 }, "c1").finish("tool-calls");
    await until(async () => (await pending()).length === 1);
    await service.pass(30_000);
    for (let crash = 0; crash < 3; crash += 1) await restart(limits);
    expect(await pending()).toHaveLength(1);
    await decide("approve");
    await service.model.next();
    await restart(limits);
    expect(await resultTold()).toContain('"charged":7');
    expect(charged).toHaveLength(1);
  });

  it("adds up the running time over approvals and crashes, and enforces the limit", async () => {
    const limits = { turnMs: 5_000, idleMs: 60_000, actionMs: MINUTE };
    await service.close();
    await start(limits);
    await service.say(id, "charge me");
    for (let asked = 1; asked <= 2; asked += 1) {
      const call = await service.model.next();
      await service.pass(1_000);
      call.callTool("charge", { amount: asked }, `c${asked}`).finish("tool-calls");
      await until(async () => (await pending()).length === 1);
      await until(() => calls.includes("wait"));
      calls = [];
      await service.pass(30_000);
      await decide("approve");
    }
    await service.model.next();
    await service.pass(1_000);
    await restart(limits);
    await service.model.next();
    await service.pass(1_000);
    expect(await idle()).toBe(false);
    await service.pass(1_000);
    await until(idle);
    const { messages, system_events } = await snapshot();
    expect(messages[1]?.status).toBe("failed");
    expect(system_events.at(-1)?.payload["code"]).toBe("turn_timeout");
    expect(charged).toEqual([{ amount: 1 }, { amount: 2 }]);
  });

  it("cancels the action on an interrupt", async () => {
    await waiting();
    const [action] = await pending();
    const sealed = parse(await service.conversations.interrupt(id, null));
    expect(sealed).toMatchObject({ status: "interrupted", pending_actions: [] });
    expect(sealed.messages[1]).toMatchObject({
      status: "interrupted",
      tool_results: [{ output: "interrupted" }],
    });
    await expect(
      service.actions.decide(id, action!.id, { decision: "approve", result: null }),
    ).rejects.toMatchObject({ status: 409, code: "action_cancelled" });
    expect(await service.actions.list(id, null)).toMatchObject([{ status: "cancelled" }]);
    await service.pass(11 * MINUTE);
    expect(charged).toEqual([]);
    expect(await snapshot()).toEqual(sealed);
  });

  it("removes the action with the session, and nothing of it reaches the next incarnation", async () => {
    await waiting();
    const [action] = await pending();
    await service.threads.remove(id);
    await expect(
      service.actions.decide(id, action!.id, { decision: "approve", result: null }),
    ).rejects.toMatchObject({ status: 404 });
    expect(await service.store.sessions.find(id)).toBeNull();
    expect((await snapshot()).pending_actions).toEqual([]);
    expect(await service.actions.list(id, null)).toEqual([]);
    await expect(
      service.actions.decide(id, action!.id, { decision: "approve", result: null }),
    ).rejects.toMatchObject({ status: 404, code: "action_not_found" });
    await service.pass(11 * MINUTE);
    expect(service.model.waitingCalls).toBe(0);
  });

  it("does not count messages behind it as waiting, until it goes on", async () => {
    await service.close();
    await start({ maxRunning: 1, maxWaiting: 4 });
    await waiting();
    for (const text of ["one", "two", "three", "four", "five"]) {
      await service.say(id, text);
      await service.clock.advance(2_000);
    }
    const other = newId();
    await service.say(other, "hello");
    (await service.model.next()).say("Hi").finish();
    await until(async () => !(await service.snapshot(other)).is_processing);
    await service.clock.advance(2_000);
    await decide("deny");
    await service.model.next();
    await service.clock.advance(1_000);
    await expect(service.say(other, "again")).rejects.toMatchObject({ code: "too_many_waiting" });
  });

  it("queues messages behind it", async () => {
    await waiting();
    await service.say(id, "and then?");
    expect(lines((await snapshot()).messages)).toEqual([
      "user complete: charge me",
      "agent streaming: Let me see.",
      "user queued: and then?",
    ]);
    await decide("deny");
    (await service.model.next()).say("One.").finish();
    (await service.model.next()).say("Two.").finish();
    await until(idle);
    expect(lines((await snapshot()).messages).slice(2)).toEqual([
      "user complete: and then?",
      "agent complete: Two.",
    ]);
  });

  it("keeps requests waiting for the session to stop processing", async () => {
    await waiting();
    const request = { sessionId: id, userState: null, waitMs: MINUTE, signal: new AbortController().signal };
    const answer = Promise.resolve(service.conversations.state(request, null)).then(parse);
    await until(() => service.registry.inMemory(id)?.hasWaiters === true);
    await decide("deny");
    (await service.model.next()).say("Then not.").finish();
    expect(lines((await answer).messages)[1]).toBe("agent complete: Let me see.\n\nThen not.");
  });
});

describe("a crash", () => {
  it("between the decision and the claim loses nothing: the tool runs once", async () => {
    await waiting();
    await restart({ maxRunning: 0 });
    await decide("approve");
    await restart();
    expect(await resultTold()).toContain('"charged":7');
    expect(charged).toEqual([{ amount: 7 }]);
  });

  it("does not repeat an approved tool with side effects", async () => {
    gate = new Promise(() => undefined);
    await waiting();
    await decide("approve");
    await until(() => charged.length === 1);
    gate = Promise.resolve();
    await restart();
    expect(await resultTold()).toContain("outcome unknown");
    expect(charged).toHaveLength(1);
  });

  it("keeps the action while other calls of the step run", async () => {
    gate = new Promise(() => undefined);
    await service.say(id, "go");
    (await service.model.next())
      .callTool("calculator", { expression: "1+1" }, "c1")
      .callTool("slow", {}, "c2")
      .finish("tool-calls");
    await until(async () => (await pending()).length === 1);
    const before = await pending();
    gate = Promise.resolve();
    await restart();
    expect(await pending()).toEqual(before);
    await decide("approve");
    expect(await resultTold()).toContain('"result":2');
  });
});

describe("a decision", () => {
  it("is rejected if its result does not fit, and changes nothing", async () => {
    await waiting();
    const before = await snapshot();
    const [action] = await pending();
    const answered = (answer: object, session = id, actionId = action!.id) =>
      service.actions.decide(session, actionId, { decision: "approve", result: null, ...answer });
    await expect(answered({ result: { answer: "yes" } })).rejects.toMatchObject({
      status: 400,
      code: "action_result_invalid",
      detail: expect.stringContaining("absent"),
    });
    const other = newId();
    await expect(answered({}, other)).rejects.toMatchObject({ status: 404, code: "action_not_found" });
    expect(await service.store.sessions.find(other)).toBeNull();
    await expect(answered({}, id, "nonsense")).rejects.toMatchObject({ status: 404 });
    expect(await snapshot()).toEqual(before);
  });

  it("counts once among concurrent decisions", async () => {
    await waiting();
    const [action] = await pending();
    const answers = await Promise.allSettled(
      (["approve", "deny", "approve", "deny"] as const).map((decision) =>
        service.actions.decide(id, action!.id, { decision, result: null }),
      ),
    );
    expect(
      answers.map((answer) => (answer.status === "fulfilled" ? answer.value.status : answer.reason.status)),
    ).toEqual(["approved", 409, "approved", 409]);
    await resultTold();
    expect(charged).toHaveLength(1);
  });

  it("after the expiry is rejected, before and after the check", async () => {
    await service.close();
    await start({ maxRunning: 1 });
    await waiting();
    const [action] = await pending();
    const late = () => service.actions.decide(id, action!.id, { decision: "approve", result: null });
    await service.actionExpiry.stop();
    await clock.advance(10 * MINUTE);
    await expect(late()).rejects.toMatchObject({ status: 410, code: "action_expired" });
    expect(await resultTold()).toContain("did not answer in time");
    await expect(late()).rejects.toMatchObject({ status: 410, code: "action_expired" });
    expect(await service.actions.list(id, null)).toMatchObject([{ status: "expired" }]);
  });
});
