import { APICallError, NoSuchModelError } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { ScriptedModel } from "../../test/scripted-model.ts";
import type { ApprovalRule } from "../core/app-settings.ts";
import { TOO_MANY_CALLS } from "../core/decisions/turn-progress.ts";
import type { JsonValue } from "../core/json.ts";
import type { PastTurn } from "../core/ports/turn-store.ts";
import type { Tool } from "../core/ports/tool.ts";
import { MAX_CALLS, NO_USAGE, type StartedTurn, type StepRecord, type TokenUsage } from "../core/turn.ts";
import { createModelCatalog } from "../models/catalog.ts";
import { fixedTools } from "../tools/testing/fixed-tools.ts";
import { ModelCaller } from "./model-step.ts";
import { runTurn, type RunEnd } from "./run.ts";
import { RecordingJournal } from "./testing/recording-journal.ts";
import { callKey } from "./call-key.ts";
import { startedTurn } from "./testing/started-turn.ts";
import { USUAL_LIMITS } from "./testing/usual-limits.ts";

const MINUTE = 60_000;

interface Trial {
  readonly clock: ManualClock;
  readonly model: ScriptedModel;
  readonly journal: RecordingJournal;
  readonly controller: AbortController;
  readonly end: Promise<RunEnd>;
  readonly usage: TokenUsage[];
}

interface TrialOptions {
  readonly turn?: Partial<StartedTurn>;
  readonly tools?: readonly Tool[];
  readonly before?: readonly PastTurn[];
  readonly steps?: readonly StepRecord[];
  readonly limits?: Partial<typeof USUAL_LIMITS>;
  readonly approvals?: Readonly<Record<string, ApprovalRule>>;
  readonly onWrite?: RecordingJournal["onWrite"];
  readonly onOpen?: () => void;
}

function run(options: TrialOptions = {}): Trial {
  const clock = new ManualClock();
  const model = new ScriptedModel();
  const turn = startedTurn(options.turn);
  const journal = new RecordingJournal(turn, options.before, options.steps);
  if (options.onWrite !== undefined) journal.onWrite = options.onWrite;
  const controller = new AbortController();
  const usage: TokenUsage[] = [];
  const tools = fixedTools({ default: options.tools ?? [] }, { approvals: options.approvals ?? {} });
  const end = runTurn(turn, journal, {
    models: createModelCatalog({ providers: {}, clock, extraModels: { "test/scripted": model } }),
    caller: new ModelCaller(),
    tools: {
      open: (opening, signal) => {
        options.onOpen?.();
        return tools.open(opening, signal);
      },
    },
    clock,
    limits: { ...USUAL_LIMITS, ...options.limits },
    instructions: "Be brief.",
    onUsage: (used) => usage.push(used),
    onFailure: () => undefined,
    signal: controller.signal,
  });
  end.catch(() => undefined);
  return { clock, model, journal, controller, end, usage };
}

/** A tool whose calls end when a test says so. */
class GatedTool implements Tool {
  readonly name: string;
  readonly description = "A tool";
  readonly inputSchema = { type: "object" as const };
  readonly effect = "read";
  readonly started: string[] = [];
  readonly signals: AbortSignal[] = [];
  progress: (value: unknown) => void = () => undefined;
  readonly #gates = new Map<string, (value: JsonValue) => void>();

  constructor(name = "tool") {
    this.name = name;
  }

  execute(_input: unknown, context: Parameters<Tool["execute"]>[1]): Promise<JsonValue> {
    this.started.push(context.callId);
    this.signals.push(context.signal);
    this.progress = (value) => context.progress(value);
    return new Promise((resolve) => this.#gates.set(context.callId, resolve));
  }

  finish(callId: string, value: JsonValue): void {
    this.#gates.get(callKey(startedTurn(), callId))?.(value);
  }
}

const echo: Tool = {
  name: "echo",
  description: "Answers at once",
  effect: "read",
  inputSchema: { type: "object" },
  execute: (input) => Promise.resolve(input as JsonValue),
};

async function until(condition: () => boolean): Promise<void> {
  for (let round = 0; round < 1_000 && !condition(); round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(condition()).toBe(true);
}

describe("a turn", () => {
  it("that needs no tools is one step, whose text streams", async () => {
    const { model, journal, end, usage } = run();
    const call = await model.next();
    expect(call.prompt).toEqual(["system: Be brief.", 'user: [{"type":"text","text":"Hello"}]']);
    call.say("Hi", " there").finish();
    expect(await end).toBe("complete");
    expect(journal.entries).toEqual(["history", "complete 1"]);
    expect(journal.said).toBe("Hi there");
    expect(journal.steps[0]).toMatchObject({ number: 1, text: "Hi there", finishReason: "stop" });
    expect(usage).toMatchObject([{ inputTokens: 10, outputTokens: 5 }]);
  });

  it("keeps each step before its tools run, and each result before the model goes on", async () => {
    const tool = new GatedTool();
    const held = Promise.withResolvers<boolean>();
    const { model, journal, end } = run({
      tools: [tool],
      onWrite: (entry) => (entry.startsWith("step 1") || entry === "result a" ? held.promise : true),
    });
    (await model.next()).say("Let me see.").callTool("tool", {}, "a").finish("tool-calls");
    await until(() => journal.entries.length === 2);
    expect(tool.started).toEqual([]);
    held.resolve(true);
    await until(() => tool.started.length === 1);
    tool.finish("a", { answer: 4 });
    const second = await model.next();
    expect(journal.entries).toEqual(["history", "step 1 calls a", "result a"]);
    expect(second.prompt.slice(2)).toMatchObject([
      expect.stringContaining("Let me see."),
      expect.stringContaining('"output":{"type":"json","value":{"answer":4}}'),
    ]);
    second.say("Four.").finish();
    expect(await end).toBe("complete");
    expect(journal.entries.at(-1)).toBe("complete 2");
  });

  it("runs the calls of a step side by side, and keeps each result as soon as it is there", async () => {
    const tool = new GatedTool();
    const { model, journal, end } = run({ tools: [tool] });
    (await model.next())
      .callTool("tool", {}, "a")
      .callTool("tool", {}, "b")
      .callTool("unknown", {}, "c")
      .finish("tool-calls");
    await until(() => tool.started.length === 2);
    tool.progress({ done: 1 });
    tool.finish("b", 2);
    await until(() => journal.outcomes.length === 2);
    // What is never made has its result with the step.
    expect(journal.outcomes.map(({ callId }) => callId)).toEqual(["c", "b"]);
    expect(journal.entries.slice(2)).toEqual(['progress b {"done":1}', "result b"]);
    expect(model.waitingCalls).toBe(0);
    tool.finish("a", 1);
    // The model gets them in the order of its calls.
    const results = (await model.next()).prompt.at(-1) ?? "";
    expect([...results.matchAll(/"toolCallId":"(.)"/g)].map(([, id]) => id)).toEqual(["a", "b", "c"]);
    expect(await Promise.race([end, Promise.resolve("runs")])).toBe("runs");
  });

  it("tells the model what was wrong with a call, and goes on", async () => {
    const strict: Tool = {
      name: "strict",
      description: "A tool that asks for a number",
      effect: "read",
      inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      execute: () => Promise.reject(new Error("It is closed today")),
    };
    const { model, journal, end } = run({ tools: [strict] });
    (await model.next())
      .callTool("strict", { n: 1 }, "throws")
      .callTool("strict", {}, "misfits")
      .emit({ type: "tool-call", toolCallId: "broken", toolName: "strict", input: "{not json" })
      .callTool("nothing", {}, "unknown")
      .finish("tool-calls");
    (await model.next()).say("Sorry.").finish();
    expect(await end).toBe("complete");
    expect(journal.outcomes.every(({ isError }) => isError)).toBe(true);
    const output = (id: string) => journal.outcomes.find(({ callId }) => callId === id)?.output;
    expect(output("throws")).toContain("It is closed today");
    expect(output("misfits")).toMatch(/\bn\b/);
    expect(output("unknown")).toContain("There is no tool");
    expect(output("broken")).toEqual(expect.any(String));
  });

  it("keeps a call of a tool that is not offered with its refusal, and as one that may have effects", async () => {
    const { model, journal, end } = run();
    (await model.next()).callTool("gone", {}, "a").finish("tool-calls");
    (await model.next()).say("Sorry.").finish();
    expect(await end).toBe("complete");
    expect(journal.calls).toMatchObject([
      { id: "a", name: "gone", effect: "unsafe", refusal: { isError: true } },
    ]);
  });

  it("makes as many calls of a step as it may, asks about no others, and tells the model of them", async () => {
    let made = 0;
    const tool = { ...echo, execute: () => Promise.resolve((made += 1)) };
    const other = { ...echo, name: "other" };
    const { model, journal, end } = run({ tools: [tool, other], approvals: { other: "always" } });
    const first = await model.next();
    for (let n = 0; n < MAX_CALLS; n += 1) first.callTool("echo", {}, `c${n}`);
    first.callTool("echo", {}, "over").callTool("other", {}, "asks").finish("tool-calls");
    const told = (await model.next()).prompt.at(-1) ?? "";
    expect(made).toBe(MAX_CALLS);
    expect(journal.asked).toEqual([]);
    expect(journal.outcomes).toHaveLength(MAX_CALLS + 2);
    expect(told.split(TOO_MANY_CALLS)).toHaveLength(3);
    expect(journal.calls).toHaveLength(MAX_CALLS + 2);
    expect(await Promise.race([end, Promise.resolve("runs")])).toBe("runs");
  });

  it("makes no call whose arguments are too large to be kept, asks nobody about it, and tells the model what to do", async () => {
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
    expect(journal.asked).toEqual([]);
    expect(journal.calls.map((call) => call.refusal?.isError)).toEqual([true, true, undefined]);
    expect(told.split("one call may have 65536 at most")).toHaveLength(3);
    expect(await Promise.race([end, Promise.resolve("runs")])).toBe("runs");
  });

  it("keeps no more outputs than all calls of an answer may have, and says that the others were made", async () => {
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

  it("counts what the calls of an answer have brought over its steps, those before a crash too", async () => {
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

  it("stops a tool that takes longer than it may, and goes on with that", async () => {
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

  it("has at most as many steps as it may, and says so", async () => {
    const { model, journal, end } = run({ tools: [] });
    for (let step = 1; step <= 20; step += 1) (await model.next()).callTool("x", {}).finish("tool-calls");
    expect(await end).toBe("failed");
    expect(journal.failure).toMatchObject({ code: "turn_step_limit" });
    expect(model.waitingCalls).toBe(0);
    expect(journal.steps).toHaveLength(20);
  });

  it("gives the calls of a conversation ids of their own, where its provider counts anew in every turn", async () => {
    const before = { ...startedTurn().agentMessage };
    const call = {
      id: "call_0",
      name: "x",
      arguments: {},
      status: "complete",
      effect: "read",
      step: 1,
    } as const;
    const past: PastTurn = {
      number: 0,
      state: "complete",
      userMessage: { ...before, role: "user", content: "before" },
      agentMessage: { ...before, toolCalls: [call] },
      steps: [],
    };
    const { model, journal, end } = run({ before: [past] });
    (await model.next()).callTool("x", {}, "call_0").finish("tool-calls");
    (await model.next()).callTool("x", {}, "call_0").finish("tool-calls");
    (await model.next()).say("ok").finish();
    await end;
    expect(journal.outcomes.map(({ callId }) => callId)).toEqual(["call_0-2", "call_0-3"]);
  });
});

describe("a turn that fails", () => {
  it("says why in the words of its model's failure", async () => {
    const { model, journal, end } = run();
    const refused = { url: "https://x", requestBodyValues: {}, statusCode: 401, responseHeaders: {} };
    (await model.next()).fail(
      new APICallError({ message: "bad key sk-123", isRetryable: false, ...refused }),
    );
    expect(await end).toBe("failed");
    expect(journal.failure).toMatchObject({ code: "model_auth" });
    expect(journal.failure?.message).not.toContain("sk-123");
  });

  it("is one whose model does not exist", async () => {
    const { journal, end } = run({ turn: { model: "nobody/nothing" } });
    expect(await end).toBe("failed");
    expect(journal.entries).toEqual(["fail model_not_found"]);
    expect(NoSuchModelError.isInstance(journal.failure)).toBe(false);
  });

  it("is one that the model declines to answer, but not one whose answer was cut", async () => {
    const declined = run();
    (await declined.model.next()).finish("content-filter");
    expect(await declined.end).toBe("failed");
    expect(declined.journal.failure?.code).toBe("model_refused");
    const cut = run();
    (await cut.model.next()).say("Up to here").finish("content-filter");
    expect(await cut.end).toBe("complete");
  });

  it("calls its model again first, where that may help and nothing was said", async () => {
    const { clock, model, journal, end } = run();
    (await model.next()).breakOff();
    await until(() => clock.timers === 3);
    await clock.advance(1_000);
    (await model.next()).say("Here").finish();
    expect(await end).toBe("complete");
    expect(journal.said).toBe("Here");
    const spoke = run();
    const call = await spoke.model.next();
    call.say("Half");
    await until(() => spoke.journal.said === "Half");
    call.breakOff();
    expect(await spoke.end).toBe("failed");
    expect(spoke.journal.failure?.code).toBe("model_unavailable");
  });

  it("is one whose provider asks to wait for longer than the turn may: it hears that, not that time was up", async () => {
    const { model, journal, end } = run({ limits: { idleMs: 30_000 } });
    const busy = {
      url: "https://x",
      requestBodyValues: {},
      statusCode: 429,
      responseHeaders: { "retry-after": "40" },
    };
    (await model.next()).fail(new APICallError({ message: "busy", ...busy }));
    expect(await end).toBe("failed");
    expect(journal.failure?.code).toBe("model_rate_limited");
  });
});

describe("a turn that asks a person", () => {
  const asking = { tool: "always" } as const;

  it("keeps what is asked with the step, runs the other calls, and then gives itself up", async () => {
    const [tool, free] = [new GatedTool(), new GatedTool("free")];
    const { clock, model, journal, end } = run({ tools: [tool, free], approvals: asking });
    (await model.next()).callTool("tool", { n: 1 }, "a").callTool("free", {}, "b").finish("tool-calls");
    await until(() => free.started.length === 1);
    expect(journal.asked).toMatchObject([
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

  it("asks nothing about input that does not fit: the model hears that at once", async () => {
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
    expect(journal.asked).toEqual([]);
  });

  it("does not change what will run, whatever the rule does to what it is shown", async () => {
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

  it("goes on after a crash with the calls that ask nobody, and waits then", async () => {
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

  it("goes on with the model when everybody has decided", async () => {
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

  it("is over when a tool that is to say what it asks does not answer, and the turn is stopped", async () => {
    const silent: Tool = Object.assign(new GatedTool(), { ask: () => new Promise<null>(() => undefined) });
    const { model, journal, controller, end } = run({ tools: [silent] });
    (await model.next()).callTool("tool", {}, "a").finish("tool-calls");
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await end).toBe("stopped");
    expect(journal.entries).toEqual(["history"]);
  });

  it("stops when it may not wait any more", async () => {
    const { model, end } = run({
      tools: [new GatedTool()],
      approvals: asking,
      onWrite: (entry) => entry !== "wait",
    });
    (await model.next()).callTool("tool", {}, "a").finish("tool-calls");
    expect(await end).toBe("stopped");
  });
});

describe("limits of time", () => {
  it("fail a turn whose model hangs, and let the call go", async () => {
    const { clock, model, journal, end } = run();
    const call = await model.next();
    await clock.advance(5 * MINUTE);
    expect(await end).toBe("failed");
    expect(journal.failure?.code).toBe("turn_stalled");
    expect(call.options.abortSignal?.aborted).toBe(true);
  });

  it("fail a turn that goes on for too long", async () => {
    const { clock, model, journal, end } = run();
    const call = await model.next();
    for (let minute = 0; minute < 10; minute += 1) {
      call.say("word ");
      await clock.advance(MINUTE);
    }
    expect(await end).toBe("failed");
    expect(journal.failure?.code).toBe("turn_timeout");
  });

  it("count what a turn ran in earlier attempts", async () => {
    const { clock, model, journal, end } = run({ turn: { attempt: 2, ranMs: 9 * MINUTE } });
    const call = await model.next();
    await clock.advance(MINUTE - 1);
    expect(call.options.abortSignal?.aborted).toBe(false);
    await clock.advance(1);
    expect(await end).toBe("failed");
    expect(journal.failure?.code).toBe("turn_timeout");
  });

  it("fail a turn at once that has used its time up, without its tools and its model", async () => {
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

  it("fail a turn whose tool goes on for too long, without its result", async () => {
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

describe("a turn that is stopped", () => {
  it("while the model speaks writes nothing more, and tells nobody", async () => {
    const { model, journal, controller, end } = run();
    const call = await model.next();
    call.say("so far");
    await until(() => journal.said !== "");
    controller.abort();
    expect(await end).toBe("stopped");
    expect(journal.entries).toEqual(["history"]);
  });

  it("while a tool runs that does not listen ends at once, without a result", async () => {
    const tool = new GatedTool();
    const { model, journal, controller, end } = run({ tools: [tool] });
    (await model.next()).callTool("tool", {}, "a").finish("tool-calls");
    await until(() => tool.started.length === 1);
    controller.abort();
    expect(await end).toBe("stopped");
    expect(journal.outcomes).toEqual([]);
    tool.finish("a", "too late");
    await new Promise((resolve) => setImmediate(resolve));
    expect(journal.outcomes).toEqual([]);
  });

  it.each(["history", "step 1", "result a", "complete 2"])(
    "by a journal that refuses the %s goes no further",
    async (refused) => {
      const tool = new GatedTool();
      const { model, journal, end } = run({
        tools: [tool],
        onWrite: (entry) => !entry.startsWith(refused),
      });
      const drive = async (): Promise<void> => {
        (await model.next()).callTool("tool", {}, "a").finish("tool-calls");
        await until(() => tool.started.length === 1);
        tool.finish("a", 1);
        (await model.next()).say("done").finish();
      };
      void drive().catch(() => undefined);
      expect(await end).toBe("stopped");
      expect(journal.entries.at(-1)).toMatch(new RegExp(`^${refused}`));
    },
  );
});

describe("a turn that goes on after a crash", () => {
  it("runs the calls first that have no result, then its next step", async () => {
    const tool = new GatedTool();
    const call = { name: "tool", arguments: {}, status: "running", effect: "read", step: 1 } as const;
    const parts = ["a", "b"].map((id) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: "tool",
      input: {},
    }));
    const agentMessage = {
      ...startedTurn().agentMessage,
      toolCalls: [
        { ...call, id: "a" },
        { ...call, id: "b" },
      ],
      toolResults: [{ call_id: "a", name: "tool", output: 1, is_error: false, duration_ms: 1 }],
    };
    const { model, journal, end } = run({
      tools: [tool],
      turn: { attempt: 2, stepsDone: 1, agentMessage, openCalls: [{ ...call, id: "b" }] },
      steps: [{ number: 1, text: "", parts, usage: NO_USAGE, finishReason: "tool-calls" }],
    });
    await until(() => tool.started.length === 1);
    expect(tool.started).toEqual([callKey(startedTurn(), "b")]);
    tool.finish("b", 2);
    const next = await model.next();
    expect(next.prompt.at(-1)).toContain('"value":2');
    next.callTool("tool", {}, "a").finish("tool-calls");
    await until(() => tool.started.length === 2);
    tool.finish("a-2", 3);
    (await model.next()).say("done").finish();
    expect(await end).toBe("complete");
    expect(journal.entries).toEqual(["result b", "history", "step 2 calls a-2", "result a-2", "complete 3"]);
  });
});

describe("a defect", () => {
  it("ends the run with its error, and nothing of the turn goes on beside it", async () => {
    const tool = new GatedTool();
    const { clock, model, end } = run({
      tools: [tool],
      onWrite: (entry) => (entry === "result a" ? Promise.reject(new Error("defect")) : true),
    });
    (await model.next()).callTool("tool", {}, "a").callTool("tool", {}, "b").finish("tool-calls");
    await until(() => tool.started.length === 2);
    tool.finish("a", 1);
    await expect(end).rejects.toThrow("defect");
    expect(tool.signals[1]?.aborted).toBe(true);
    expect(clock.timers).toBe(0);
  });
});
