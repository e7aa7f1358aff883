import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import type { ApprovalRule } from "../core/app-settings.ts";
import type { Tool } from "../core/ports/tool.ts";
import { builtInTools } from "./built-in/built-in-tools.ts";
import { fixedTools } from "./testing/fixed-tools.ts";
import { toolTurn } from "./testing/tool-turn.ts";

const { signal } = new AbortController();
const clock = new ManualClock();
const pay: Tool = {
  name: "pay",
  description: "",
  inputSchema: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  effect: "unsafe",
  execute: async () => "paid",
};
const approval = (input: unknown) => ({ kind: "approval", request: { tool: "pay", input } });

async function ask(rule: ApprovalRule | undefined, input: unknown, tool = pay) {
  const approvals = rule === undefined ? {} : { [tool.name]: rule };
  const tools = await fixedTools({ default: [tool] }, { approvals, clock }).open(toolTurn(), signal);
  return await tools.ask(tool.name, input);
}

describe("before a call a person", () => {
  it("is not asked where nothing is said, and always where it is", async () => {
    expect(await ask(undefined, { amount: 1 })).toBeNull();
    expect(await ask("never", { amount: 1 })).toBeNull();
    expect(await ask("always", { amount: 1 })).toEqual(approval({ amount: 1 }));
  });

  it("is asked where a function of the input says so", async () => {
    const large: ApprovalRule = (input, { app }) =>
      app === "default" && (input as { amount: number }).amount > 10;
    expect(await ask(large, { amount: 10 })).toBeNull();
    expect(await ask(large, { amount: 11 })).toEqual(approval({ amount: 11 }));
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no"))],
    ["says nothing", () => undefined as unknown as boolean],
    ["says something else", () => 0 as unknown as boolean],
  ] as const)("is asked where a function %s", async (_case, rule) => {
    expect(await ask(rule, { amount: 1 })).toEqual(approval({ amount: 1 }));
  });

  it("is asked where a function does not answer in time", async () => {
    const asked = ask(() => new Promise(() => undefined), { amount: 1 });
    await clock.advance(10_000);
    expect(await asked).toEqual(approval({ amount: 1 }));
    expect(clock.timers).toBe(0);
  });

  it("approves what the tool will get: a function cannot change it", async () => {
    const input = { amount: 1 };
    const changing: ApprovalRule = (given) => {
      (given as { amount: number }).amount = 0;
      return true;
    };
    expect(await ask(changing, input)).toEqual(approval({ amount: 1 }));
    expect(input).toEqual({ amount: 1 });
  });

  it("is asked nothing about input that does not fit, nor about a tool that is not there", async () => {
    expect(await ask("always", { amount: "all" })).toBeNull();
    const tools = await fixedTools({ default: [pay] }, { clock }).open(toolTurn(), signal);
    expect(await tools.ask("constructor", {})).toBeNull();
  });

  it("is shown no secret", async () => {
    const vault = {
      isOpen: true,
      names: () => Promise.resolve([]),
      set: () => Promise.resolve(),
      remove: () => Promise.resolve(0),
      open: () => Promise.resolve(new Map([["KEY", "s3cret-value"]])),
    };
    const options = { approvals: { note: "always" }, secrets: ["KEY"], vault, clock } as const;
    const note: Tool = { ...pay, name: "note", inputSchema: { type: "object" } };
    const tools = await fixedTools({ default: [note] }, options).open(
      toolTurn("default", { clientId: "a" }),
      signal,
    );
    expect(await tools.ask("note", { text: "my s3cret-value" })).toMatchObject({
      request: { input: { text: "my [secret]" } },
    });
  });
});

describe("a tool that asks itself", () => {
  const asking = builtInTools(clock).ask_user;

  it("asks its question, choices or none", async () => {
    expect(await ask(undefined, { question: "Which?", choices: ["a", "b"] }, asking)).toEqual({
      kind: "question",
      request: { question: "Which?", choices: ["a", "b"] },
    });
    expect(await ask("always", { question: "Why?" }, asking)).toEqual({
      kind: "question",
      request: { question: "Why?", choices: [] },
    });
    expect(await ask(undefined, { question: "" }, asking)).toBeNull();
  });

  it("and fails at it does not run without approval", async () => {
    const failing = { ...pay, ask: () => Promise.reject(new Error("no")) };
    expect(await ask(undefined, { amount: 1 }, failing)).toEqual(approval({ amount: 1 }));
  });
});
