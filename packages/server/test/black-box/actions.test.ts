// Actions that wait for a person's decision, as clients see them.

import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Action, type Snapshot } from "@colloquy/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { callKey } from "../../src/turns/tool-calls.ts";
import { chat, expectProblem, newSession, send, whenIdle, state } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { fold } from "./reference-fold.ts";
import { Program, useService } from "./server.ts";

const COUNTING = new URL("./counting.config.ts", import.meta.url).pathname;

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

/** Returns the snapshot of a session whose answer waits for an approval. */
async function waiting(url: string, session: string): Promise<Snapshot> {
  await chat(url, session, "what is 12 * 7?");
  await expect.poll(async () => (await state(url, session)).pending_actions.length).toBe(1);
  return await state(url, session);
}

function decide(url: string, session: string, id: string, body: unknown) {
  return send(url, "POST", `/api/actions/${id}`, { session, json: body });
}

async function list(url: string, session: string): Promise<Action[]> {
  const answer = await send(url, "GET", "/api/actions", { session });
  expect(answer.status).toBe(200);
  return answer.as(z.array(Action));
}

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
    const { pending_actions } = await waiting(url(), session);
    const done = await whenIdle(url(), session);
    expect(done.messages[1]?.tool_results).toMatchObject([{ is_error: true }]);
    const { id } = pending_actions[0]!;
    expectProblem(await decide(url(), session, id, { decision: "approve" }), 410, "action_expired");
    expect(await list(url(), session)).toMatchObject([{ id, status: "expired" }]);
  });
});

describe("a process that is killed", () => {
  const programs: Program[] = [];
  afterEach(async () => {
    for (const program of programs.splice(0)) await program.remove();
  });

  async function started(): Promise<Program> {
    const program = await Program.start(COUNTING);
    programs.push(program);
    return program;
  }

  /** Returns the ids of executed calls, once per execution. */
  const runs = async (program: Program): Promise<string[]> =>
    (await readFile(join(program.directory, "runs"), "utf8").catch(() => "")).split("\n").slice(0, -1);

  it("leaves pending actions unchanged, byte for byte", async () => {
    const program = await started();
    const session = newSession();
    await waiting(program.url, session);
    const before = await send(program.url, "GET", "/api/state", { session });
    const actions = await list(program.url, session);
    await program.stop("SIGKILL");
    await program.run();
    expect((await send(program.url, "GET", "/api/state", { session })).text).toBe(before.text);
    expect(await list(program.url, session)).toEqual(actions);
    expect(await runs(program)).toEqual([]);
  });

  it("during an approved call with effects does not repeat the call", async () => {
    const program = await started();
    const session = newSession();
    const { pending_actions } = await waiting(program.url, session);
    await writeFile(join(program.directory, "hang"), "");
    await decide(program.url, session, pending_actions[0]!.id, { decision: "approve" });
    await expect.poll(() => runs(program)).toHaveLength(1);
    await rm(join(program.directory, "hang"));
    await program.stop("SIGKILL");
    await program.run();
    const done = await whenIdle(program.url, session);
    expect(done.messages[1]?.tool_results).toMatchObject([{ output: "outcome unknown", is_error: true }]);
    expect(await runs(program)).toHaveLength(1);
  });

  it("right after decisions has run each approved call at most once, and every answer ends", async () => {
    const program = await started();
    const sessions = Array.from({ length: 12 }, newSession);
    for (const session of sessions) await waiting(program.url, session);
    const asked = await Promise.all(sessions.map((session) => state(program.url, session)));
    let answered = 0;
    const decisions = asked.map(async ({ session_id: session, pending_actions }) => {
      const { status } = await decide(program.url, session, pending_actions[0]!.id, { decision: "approve" });
      if (status === 200) answered += 1;
      if (answered === 3) await program.stop("SIGKILL");
    });
    await Promise.allSettled(decisions);
    await program.run();
    for (const session of sessions) {
      const [action] = (await state(program.url, session)).pending_actions;
      if (action !== undefined) await decide(program.url, session, action.id, { decision: "approve" });
    }
    const ran = await Promise.all(sessions.map((session) => whenIdle(program.url, session)));
    const calls = await runs(program);
    expect(new Set(calls).size).toBe(calls.length);
    for (const { messages, status, session_id: sessionId, last_event_id } of ran) {
      expect(status).toBe("idle");
      const [result] = messages[1]?.tool_results ?? [];
      const first = { sessionId, incarnation: last_event_id.split("-")[0]!, number: 1 };
      if (result?.is_error === false) expect(calls).toContain(callKey(first, result.call_id));
      else expect(result?.output).toBe("outcome unknown");
    }
  });
});
