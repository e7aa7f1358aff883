// Actions that wait for a person's decision, as clients see them.

import { randomUUID } from "node:crypto";
import { Action } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { decide, list, waiting } from "./approvals.ts";
import { chat, expectProblem, newSession, send, whenIdle, state } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { fold } from "./reference-fold.ts";
import { useService } from "./server.ts";

const config = (more: object = {}) => ({
  apps: {
    default: {
      models: ["demo/assistant"],
      tools: ["calculator", "current_time"],
      approvals: { calculator: "always" },
    },
  },
  ...more,
});

describe("an answer that needs an approval", () => {
  const url = useService(config());

  it("shows the action in the snapshot and in events, and continues when it is approved", async () => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session, { include: "tools,messages,state" });
    const before = await state(url(), session);
    const asking = await waiting(url(), session);
    expect(asking.is_processing).toBe(true);
    const [action] = asking.pending_actions;
    expect(action).toMatchObject({
      kind: "approval",
      tool: "calculator",
      call_id: asking.messages[1]?.tool_calls?.[0]?.id,
      request: { tool: "calculator", input: asking.messages[1]?.tool_calls?.[0]?.arguments },
    });
    await reader.find(({ type }) => type === "system_notice");
    expect(reader.events.map(({ event }) => ("code" in event ? event.code : null))).toContain(
      "action_requested",
    );
    expect(await list(url(), session)).toEqual([
      { ...action, status: "pending", result: null, resolved_at: null },
    ]);

    const answer = await decide(url(), session, action!.id, { decision: "approve" });
    expect(answer.status).toBe(200);
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.as(Action)).toMatchObject({ ...action, status: "approved", result: null });
    const done = await whenIdle(url(), session);
    expect(done.messages[1]?.content).toContain("84");
    expect(done.pending_actions).toEqual([]);
    await reader.until(() => reader.lastEventId === done.last_event_id);
    expect(fold(before, reader.events)).toEqual(done);
    reader.leave();
  });

  it("drops the action when the message is replaced, so that nobody can decide it any more", async () => {
    const session = newSession();
    const asking = await waiting(url(), session);
    const [action] = asking.pending_actions;
    const reader = await EventReader.connect(url(), session, {
      include: "tools,messages,state",
      lastEventId: asking.last_event_id,
    });
    const json = { message: "hello", replaces: asking.messages[0]?.id };
    expect((await send(url(), "POST", "/api/chat", { session, json })).status).toBe(200);
    const done = await whenIdle(url(), session);
    expect([done.pending_actions, await list(url(), session)]).toEqual([[], []]);
    expect(done.messages.map(({ tool_calls }) => tool_calls)).toEqual([undefined, undefined]);
    const late = await decide(url(), session, action!.id, { decision: "approve" });
    expectProblem(late, 404, "action_not_found");
    await reader.until(() => reader.lastEventId === done.last_event_id);
    expect(fold(asking, reader.events)).toEqual(done);
    reader.leave();
  });

  it("continues without the tool when it is denied", async () => {
    const session = newSession();
    const { pending_actions } = await waiting(url(), session);
    const answer = await decide(url(), session, pending_actions[0]!.id, { decision: "deny" });
    expect(answer.as(Action).status).toBe("denied");
    const done = await whenIdle(url(), session);
    expect(done.status).toBe("idle");
    expect(done.messages[1]?.tool_results).toMatchObject([
      { output: "The user denied this call.", is_error: true },
    ]);
  });

  it("is decided once: repeating the decision gives 200, another one 409", async () => {
    const session = newSession();
    const { pending_actions } = await waiting(url(), session);
    const { id } = pending_actions[0]!;
    const first = await decide(url(), session, id, { decision: "approve" });
    const second = await decide(url(), session, id, { decision: "approve", result: null });
    expect([second.status, second.json()]).toEqual([200, first.json()]);
    expectProblem(await decide(url(), session, id, { decision: "deny" }), 409, "action_decided");
    await whenIdle(url(), session);
    expectProblem(await decide(url(), session, id, { decision: "deny" }), 409, "action_decided");
  });

  it("rejects malformed decisions with 400 and changes nothing", async () => {
    const session = newSession();
    const asking = await waiting(url(), session);
    const { id } = asking.pending_actions[0]!;
    for (const body of [{}, { decision: "yes" }, { decision: 1 }, [], null]) {
      expectProblem(await decide(url(), session, id, body), 400);
    }
    for (const decision of ["approve", "deny"]) {
      for (const result of [{ answer: "x" }, "x", 0, false, []]) {
        const refused = await decide(url(), session, id, { decision, result });
        expectProblem(refused, 400, "action_result_invalid");
      }
    }
    expect(await state(url(), session)).toEqual(asking);
  });

  it("answers 404 for an unknown id and for another session's action, and creates no session", async () => {
    const session = newSession();
    const { pending_actions } = await waiting(url(), session);
    const other = newSession();
    const body = { decision: "approve" };
    for (const [from, id] of [
      [session, randomUUID()],
      [session, "nonsense"],
      [other, pending_actions[0]!.id],
    ] as const) {
      expectProblem(await decide(url(), from, id, body), 404, "action_not_found");
    }
    expect((await send(url(), "GET", `/api/sessions/${other}`)).status).toBe(404);
    expect((await state(url(), session)).pending_actions).toEqual(pending_actions);
  });

  it("is cancelled by an interrupt: 409", async () => {
    const session = newSession();
    const { pending_actions } = await waiting(url(), session);
    const { id } = pending_actions[0]!;
    await send(url(), "POST", "/api/interrupt", { session });
    expect((await state(url(), session)).pending_actions).toEqual([]);
    expectProblem(await decide(url(), session, id, { decision: "approve" }), 409, "action_cancelled");
    expect(await list(url(), session)).toMatchObject([{ id, status: "cancelled" }]);
    expect((await whenIdle(url(), session)).status).toBe("interrupted");
  });

  it("is deleted with its session: 404, also in the next incarnation", async () => {
    const session = newSession();
    const { pending_actions } = await waiting(url(), session);
    await send(url(), "DELETE", `/api/sessions/${session}`);
    const body = { decision: "approve" };
    expectProblem(await decide(url(), session, pending_actions[0]!.id, body), 404, "action_not_found");
    await send(url(), "POST", "/api/sessions", { session });
    expect(await list(url(), session)).toEqual([]);
    expectProblem(await decide(url(), session, pending_actions[0]!.id, body), 404, "action_not_found");
  });

  it("lets messages queue behind it", async () => {
    const session = newSession();
    const { pending_actions } = await waiting(url(), session);
    expect((await chat(url(), session, "hello")).messages[2]?.status).toBe("queued");
    await decide(url(), session, pending_actions[0]!.id, { decision: "approve" });
    const done = await whenIdle(url(), session);
    expect(done.messages.map(({ sender, status }) => `${sender} ${status}`)).toEqual([
      "user complete",
      "agent complete",
      "user complete",
      "agent complete",
    ]);
  });
});

describe("an undecided action", () => {
  const url = useService(config({ limits: { actionMs: 1_000 } }));

  it("expires as denied, and answers a late decision with 410", async () => {
    const session = newSession();
    await chat(url(), session, "what is 12 * 7?");
    await expect.poll(async () => (await list(url(), session))[0]?.status).toBe("expired");
    const { id } = (await list(url(), session))[0]!;
    const done = await whenIdle(url(), session);
    expect(done.messages[1]?.tool_results).toMatchObject([{ is_error: true }]);
    expectProblem(await decide(url(), session, id, { decision: "approve" }), 410, "action_expired");
    expect(await list(url(), session)).toMatchObject([{ id, status: "expired" }]);
  });
});
