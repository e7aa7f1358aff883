import { describe, expect, it } from "vitest";
import { run, until } from "../../../server/test/run-trial.ts";
import type { ApprovalRule } from "../core/app-settings.ts";
import type { Tool } from "../core/ports/driven/tool.ts";
import { startedTurn } from "./testing/started-turn.ts";
import { GatedTool } from "./testing/gated-tool.ts";

const MINUTE = 60_000;

describe("turn that requests a decision", () => {
  const asking = { tool: "always" } as const;

  it("stores the actions with the step, runs the other calls, and then suspends itself", async () => {
    const [tool, free] = [new GatedTool(), new GatedTool("free")];
    const { clock, model, journal, end } = run({ tools: [tool, free], approvals: asking });
    (await model.next()).callTool("tool", { n: 1 }, "a").callTool("free", {}, "b").finish("tool-calls");
    await until(() => free.started.length === 1);
    expect(journal.actions).toMatchObject([
      {
        callId: "a",
        asked: { kind: "approval", request: { tool: "tool", input: { n: 1 } } },
        validMs: 10 * MINUTE,
      },
    ]);
    expect(journal.entries).toEqual(["history", "step 1 calls a b"]);
    free.finish("b", 2);
    expect(await end).toBe("waiting");
    expect(journal.entries.slice(2)).toEqual(["result b", "wait"]);
    expect(tool.started).toEqual([]);
    expect(model.waitingCalls).toBe(0);
    expect(clock.timers).toBe(0);
  });

  it("does not ask about invalid input, which it reports to the model at once", async () => {
    const strict: Tool = {
      name: "tool",
      description: "A tool that asks for a number",
      effect: "read",
      inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      execute: () => Promise.resolve("done"),
    };
    const { model, journal, end } = run({ tools: [strict], approvals: asking });
    (await model.next()).callTool("tool", { n: "x" }, "a").finish("tool-calls");
    (await model.next()).say("Oh.").finish();
    expect(await end).toBe("complete");
    expect(journal.actions).toEqual([]);
  });

  it("does not change the input when a rule mutates its copy", async () => {
    const rule: ApprovalRule = (input) => {
      (input as { n: number }).n = 2;
      return true;
    };
    const meddling: Tool = Object.assign(new GatedTool(), {
      ask: (input: unknown) => {
        (input as { n: number }).n = 3;
        return null;
      },
    });
    const { model, journal, end } = run({ tools: [meddling], approvals: { tool: rule } });
    (await model.next()).callTool("tool", { n: 1 }, "a").finish("tool-calls");
    expect(await end).toBe("waiting");
    expect(journal.calls).toMatchObject([{ id: "a", arguments: { n: 1 } }]);
  });

  it("resumes the calls that need no decision after a crash, then waits", async () => {
    const tool = new GatedTool();
    const open = { name: "tool", arguments: {}, status: "running", effect: "read", step: 1 } as const;
    const { agentMessage } = startedTurn();
    const toolCalls = [{ ...open, id: "a", phase: "asked" } as const, { ...open, id: "b" }];
    const { journal, end } = run({
      tools: [tool],
      turn: { stepsDone: 1, agentMessage: { ...agentMessage, toolCalls }, openCalls: [toolCalls[1]!] },
    });
    await until(() => tool.started.length === 1);
    tool.finish("b", 1);
    expect(await end).toBe("waiting");
    expect(journal.entries).toEqual(["result b", "wait"]);
  });

  it("does not run a stored call after a crash if the policy now denies it", async () => {
    const tool: Tool = Object.assign(new GatedTool(), {
      ask: () => ({ kind: "question", request: { question: "?".repeat(70_000), choices: [] } }) as const,
    });
    const open = { name: "tool", arguments: {}, status: "running", effect: "read", step: 1 } as const;
    const { agentMessage } = startedTurn();
    const toolCalls = [{ ...open, id: "a" }];
    const { model, journal, end } = run({
      tools: [tool],
      turn: { stepsDone: 1, agentMessage: { ...agentMessage, toolCalls }, openCalls: toolCalls },
    });
    (await model.next()).say("Then not.").finish();
    expect(await end).toBe("complete");
    expect(journal.outcomes).toMatchObject([
      { callId: "a", output: expect.stringContaining("64 KiB"), isError: true },
    ]);
  });

  it("calls the model again when every action is decided", async () => {
    const open = { name: "tool", arguments: {}, status: "failed", effect: "read", step: 1 } as const;
    const { agentMessage } = startedTurn();
    const denied = { call_id: "a", name: "tool", output: "no", is_error: true, duration_ms: 1 };
    const toolCalls = [{ ...open, id: "a", phase: "asked" } as const];
    const { model, end } = run({
      turn: { stepsDone: 1, agentMessage: { ...agentMessage, toolCalls, toolResults: [denied] } },
    });
    (await model.next()).say("Then not.").finish();
    expect(await end).toBe("complete");
  });

  it("ends on a stop even if a tool's approval rule hangs", async () => {
    const silent: Tool = Object.assign(new GatedTool(), { ask: () => new Promise<null>(() => undefined) });
    const { model, journal, controller, end } = run({ tools: [silent] });
    (await model.next()).callTool("tool", {}, "a").finish("tool-calls");
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await end).toBe("stopped");
    expect(journal.entries).toEqual(["history"]);
  });

  it("stops when its suspension is refused", async () => {
    const { model, end } = run({
      tools: [new GatedTool()],
      approvals: asking,
      onWrite: (entry) => entry !== "wait",
    });
    (await model.next()).callTool("tool", {}, "a").finish("tool-calls");
    expect(await end).toBe("stopped");
  });
});
