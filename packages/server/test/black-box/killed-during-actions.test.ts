// Actions and approved calls of a process that is killed.

import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { callKey } from "@colloquy/engine/internal/turns/tool-calls";
import { decide, list, waiting } from "./approvals.ts";
import { newSession, send, state, whenIdle } from "./client.ts";
import { Program } from "./server.ts";

const COUNTING = new URL("./counting.config.ts", import.meta.url).pathname;

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
