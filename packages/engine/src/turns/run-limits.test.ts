// Limits of a turn's work, data and time.

import { describe, expect, it } from "vitest";
import { run, until } from "../../../server/test/run-trial.ts";
import { TOO_MANY_CALLS } from "../core/commands/step-with-calls.ts";
import type { JsonValue } from "../core/json.ts";
import type { Tool } from "../core/ports/driven/tool.ts";
import { MAX_CALLS } from "../core/turn.ts";
import { startedTurn } from "./testing/started-turn.ts";
import { GatedTool } from "./testing/gated-tool.ts";

const MINUTE = 60_000;

const echo: Tool = {
  name: "echo",
  description: "Answers at once",
  effect: "read",
  inputSchema: { type: "object" },
  execute: (input) => Promise.resolve(input as JsonValue),
};

describe("turn", () => {
  it("makes calls up to the step's maximum, asks about no others, and tells the model", async () => {
    let made = 0;
    const tool = { ...echo, execute: () => Promise.resolve((made += 1)) };
    const other = { ...echo, name: "other" };
    const { model, journal, end } = run({ tools: [tool, other], approvals: { other: "always" } });
    const first = await model.next();
    for (let n = 0; n < MAX_CALLS; n += 1) first.callTool("echo", {}, `c${n}`);
    first.callTool("echo", {}, "over").callTool("other", {}, "asks").finish("tool-calls");
    const told = (await model.next()).prompt.at(-1) ?? "";
    expect(made).toBe(MAX_CALLS);
    expect(journal.actions).toEqual([]);
    expect(journal.outcomes).toHaveLength(MAX_CALLS + 2);
    expect(told.split(TOO_MANY_CALLS)).toHaveLength(3);
    expect(journal.calls).toHaveLength(MAX_CALLS + 2);
    expect(await Promise.race([end, Promise.resolve("runs")])).toBe("runs");
  });

  it("refuses oversized arguments without asking, and tells the model what to do", async () => {
    const made: unknown[] = [];
    const tool = { ...echo, execute: (input: unknown) => Promise.resolve(made.push(input)) };
    const { model, journal, end } = run({
      tools: [tool, { ...tool, name: "other" }],
      approvals: { other: "always" },
    });
    const large = { text: "x".repeat(64 * 1_024) };
    (await model.next())
      .callTool("echo", large, "a")
      .callTool("other", large, "b")
      .callTool("echo", {}, "c")
      .finish("tool-calls");
    const told = (await model.next()).prompt.at(-1) ?? "";
    expect(made).toEqual([{}]);
    expect(journal.actions).toEqual([]);
    expect(journal.calls.map((call) => call.refusal?.isError)).toEqual([true, true, undefined]);
    expect(told.split("one call may have 65536 at most")).toHaveLength(3);
    expect(await Promise.race([end, Promise.resolve("runs")])).toBe("runs");
  });

  it("stores outputs up to the answer's maximum, and tells the model that the other calls were made", async () => {
    const large = "x".repeat(60_000);
    const read = { ...echo, execute: () => Promise.resolve(large) };
    const { agentMessage } = startedTurn();
    const output = "x".repeat(1_024 * 1_024 - 130_000);
    const before = { call_id: "before", name: "echo", output, is_error: false, duration_ms: 1 };
    const { model, journal } = run({
      tools: [read, { ...echo, name: "short" }],
      turn: { agentMessage: { ...agentMessage, toolResults: [before] }, stepsDone: 1 },
    });
    (await model.next()).callTool("echo", {}, "a").finish("tool-calls");
    (await model.next())
      .callTool("echo", {}, "b")
      .callTool("echo", {}, "c")
      .callTool("short", {}, "d")
      .finish("tool-calls");
    const told = (await model.next()).prompt.at(-1) ?? "";
    const outputs = journal.outcomes.map((outcome) => outcome.output);
    expect(outputs.slice(0, 2)).toEqual([large, large]);
    expect(outputs[2]).toMatch(/^\[Left out: the call was made, and its output had 60002 bytes/);
    expect(outputs[3]).toEqual({});
    expect(journal.outcomes.map(({ isError }) => isError)).toEqual([false, false, false, false]);
    expect(told).toContain("Left out: the call was made");
  });

  it("counts arguments over all steps of an answer, including those before a crash", async () => {
    const call = { id: "before", name: "echo", status: "complete", effect: "read", step: 1 } as const;
    const before = { ...call, arguments: { text: "x".repeat(1_024 * 1_024 - 100_000) } };
    const { agentMessage } = startedTurn();
    const { model, journal } = run({
      tools: [echo],
      turn: { agentMessage: { ...agentMessage, toolCalls: [before] }, stepsDone: 1 },
    });
    const half = { text: "x".repeat(40_000) };
    (await model.next()).callTool("echo", half, "a").finish("tool-calls");
    (await model.next()).callTool("echo", half, "b").callTool("echo", half, "c").finish("tool-calls");
    await model.next();
    expect(journal.calls.map((made) => made.refusal === undefined)).toEqual([true, true, false]);
  });

  it("aborts a tool that exceeds its time, and continues", async () => {
    const tool = new GatedTool();
    const { clock, model, journal, end } = run({ tools: [tool] });
    (await model.next()).callTool("tool", {}, "a").finish("tool-calls");
    await until(() => tool.started.length === 1);
    await clock.advance(MINUTE);
    (await model.next()).say("It is slow.").finish();
    expect(await end).toBe("complete");
    expect(journal.outcomes[0]).toMatchObject({ isError: true, durationMs: MINUTE });
    expect(tool.signals[0]?.aborted).toBe(true);
  });

  it("ends with a failure at the maximum number of steps", async () => {
    const { model, journal, end } = run({ tools: [] });
    for (let step = 1; step <= 20; step += 1) (await model.next()).callTool("x", {}).finish("tool-calls");
    expect(await end).toBe("failed");
    expect(journal.failure).toMatchObject({ code: "turn_step_limit" });
    expect(model.waitingCalls).toBe(0);
    expect(journal.steps).toHaveLength(20);
  });
});

describe("time limits", () => {
  it("fail a turn whose model hangs, and cancel the call", async () => {
    const { clock, model, journal, end } = run();
    const call = await model.next();
    await clock.advance(5 * MINUTE);
    expect(await end).toBe("failed");
    expect(journal.failure?.code).toBe("turn_stalled");
    expect(call.options.abortSignal?.aborted).toBe(true);
  });

  it("fail a turn that takes too long", async () => {
    const { clock, model, journal, end } = run();
    const call = await model.next();
    for (let minute = 0; minute < 10; minute += 1) {
      call.say("word ");
      await clock.advance(MINUTE);
    }
    expect(await end).toBe("failed");
    expect(journal.failure?.code).toBe("turn_timeout");
  });

  it("count the time of earlier attempts", async () => {
    const { clock, model, journal, end } = run({ turn: { attempt: 2, ranMs: 9 * MINUTE } });
    const call = await model.next();
    await clock.advance(MINUTE - 1);
    expect(call.options.abortSignal?.aborted).toBe(false);
    await clock.advance(1);
    expect(await end).toBe("failed");
    expect(journal.failure?.code).toBe("turn_timeout");
  });

  it("fail a turn at once if its time is used up, without tools or model", async () => {
    const tool = new GatedTool();
    const call = {
      id: "a",
      name: "tool",
      arguments: {},
      status: "running",
      effect: "read",
      step: 1,
    } as const;
    const turn = { ranMs: 10 * MINUTE, openCalls: [call] };
    let opened = 0;
    const { model, journal, end } = run({ turn, tools: [tool], onOpen: () => (opened += 1) });
    expect(await end).toBe("failed");
    expect(journal.entries).toEqual(["fail turn_timeout"]);
    expect([opened, tool.started]).toEqual([0, []]);
    expect(model.waitingCalls).toBe(0);
  });

  it("fail a turn whose tool takes too long, without its result", async () => {
    const tool = new GatedTool();
    const { clock, model, journal, end } = run({ tools: [tool], limits: { toolMs: 20 * MINUTE } });
    (await model.next()).callTool("tool", {}, "a").finish("tool-calls");
    await until(() => tool.started.length === 1);
    await clock.advance(5 * MINUTE);
    expect(await end).toBe("failed");
    expect(journal.outcomes).toEqual([]);
    expect(tool.signals[0]?.aborted).toBe(true);
  });

  it("leave no timer behind when the turn ends", async () => {
    const { clock, model, end } = run();
    (await model.next()).say("ok").finish();
    await end;
    expect(clock.timers).toBe(0);
  });
});
