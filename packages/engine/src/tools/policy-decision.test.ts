import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { ApprovalRule } from "../core/app-settings.ts";
import type { ActionRequest } from "../core/action.ts";
import type { JsonValue } from "../core/json.ts";
import type { PolicyDecision, Tool } from "../core/ports/driven/tool.ts";
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

/** Returns the request that a person must decide, `null` if the call runs without one, or the refusal. */
function askedBy(decision: PolicyDecision) {
  if (decision.kind === "ask") return decision.request;
  return decision.kind === "allow" ? null : decision;
}

async function ask(rule: ApprovalRule | undefined, input: unknown, tool = pay) {
  const approvals = rule === undefined ? {} : { [tool.name]: rule };
  const tools = await fixedTools({ default: [tool] }, { approvals, clock }).open(toolTurn(), signal);
  return askedBy(await tools.decide(tool.name, input));
}

describe("decideCall", () => {
  it("asks for approval under the rule `always`, and not without a rule or under `never`", async () => {
    expect(await ask(undefined, { amount: 1 })).toBeNull();
    expect(await ask("never", { amount: 1 })).toBeNull();
    expect(await ask("always", { amount: 1 })).toEqual(approval({ amount: 1 }));
  });

  it("asks for approval when the rule function returns true", async () => {
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
    ["returns undefined", () => undefined as unknown as boolean],
    ["returns a non-boolean", () => 0 as unknown as boolean],
  ] as const)("asks for approval when the rule function %s", async (_case, rule) => {
    expect(await ask(rule, { amount: 1 })).toEqual(approval({ amount: 1 }));
  });

  it("asks for approval when the rule function does not finish in time", async () => {
    const asked = ask(() => new Promise(() => undefined), { amount: 1 });
    await clock.advance(10_000);
    expect(await asked).toEqual(approval({ amount: 1 }));
    expect(clock.timers).toBe(0);
  });

  it("asks about the input that the tool will get, whatever the rule function does to its copy", async () => {
    const input = { amount: 1 };
    const changing: ApprovalRule = (given) => {
      (given as { amount: number }).amount = 0;
      return true;
    };
    expect(await ask(changing, input)).toEqual(approval({ amount: 1 }));
    expect(input).toEqual({ amount: 1 });
  });

  it("refuses invalid input and unknown tools without asking", async () => {
    const refused = (output: string) => ({ kind: "deny", output, isError: true });
    expect(await ask("always", { amount: "all" })).toEqual(
      refused(
        "The input does not fit the tool pay: amount: Invalid input: expected number, received string.",
      ),
    );
    const tools = await fixedTools({ default: [pay] }, { clock }).open(toolTurn(), signal);
    expect(await tools.decide("constructor", {})).toEqual(
      refused("There is no tool with this name. The tools are pay."),
    );
  });

  it("refuses input that is nested too deep to be shown, before and during the call", async () => {
    const nested = (levels: number) => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`) as JsonValue;
    const tool: Tool = { ...pay, inputSchema: { type: "object" } };
    expect(await ask("always", { amount: nested(59) }, tool)).toEqual(approval({ amount: nested(59) }));
    for (const levels of [60, 64, 10_000]) {
      const input = { amount: nested(levels) };
      const output = "The input does not fit the tool pay: it is nested deeper than 60 levels.";
      expect(await ask("always", input, tool)).toEqual({ kind: "deny", output, isError: true });
      const tools = await fixedTools({ default: [tool] }, { clock }).open(toolTurn(), signal);
      const options = { callId: "1", timeoutMs: 1_000, signal, clock };
      expect(await tools.call("pay", input, options)).toEqual({ output, isError: true });
    }
  });

  it("asks for approval without showing an input that is not JSON", async () => {
    expect(await ask("always", { amount: 1, when: new Map() }, pay)).toEqual(
      approval("The input cannot be shown."),
    );
  });

  it("runs a tool without a rule whose name is a property of every object", async () => {
    const tool: Tool = { ...pay, name: "constructor" };
    const tools = await fixedTools({ default: [tool] }, { clock }).open(toolTurn(), signal);
    expect(await tools.decide("constructor", { amount: 1 })).toEqual({ kind: "allow" });
  });

  it("removes secrets from the request", async () => {
    const note: Tool = { ...pay, name: "note", inputSchema: { type: "object" } };
    const tools = await withSecret("s3cret-value", note, { note: "always" });
    expect(await tools.decide("note", { text: "my s3cret-value" })).toMatchObject({
      request: { request: { input: { text: "my [secret]" } } },
    });
  });
});

async function withSecret(value: string, tool: Tool, approvals: Readonly<Record<string, ApprovalRule>> = {}) {
  const vault = {
    isOpen: true,
    names: () => Promise.resolve([]),
    set: () => Promise.resolve(),
    remove: () => Promise.resolve(0),
    open: () => Promise.resolve(new Map([["KEY", value]])),
  };
  const toolset = fixedTools({ default: [tool] }, { approvals, secrets: ["KEY"], vault, clock });
  return await toolset.open(toolTurn("default", { clientId: "a" }), signal);
}

describe("input that is too large for a person to check", () => {
  /** Returns a string whose JSON has `bytes` bytes. */
  const text = (bytes: number) => "é".repeat((bytes - 2) / 2);
  const refused = { kind: "deny", output: expect.stringContaining("more than 64 KiB"), isError: true };
  const takesText: Tool = { ...pay, inputSchema: { type: "string" } };

  it("is refused above the limit of 64 KiB, byte for byte", async () => {
    const fits = text(65_536);
    expect(await ask("always", fits, takesText)).toEqual(approval(fits));
    expect(await ask("always", `${fits}!`, takesText)).toEqual(refused);
    const broken = { ...takesText, ask: () => Promise.reject(new Error("no")) };
    expect(await ask(undefined, `${fits}!`, broken)).toEqual(refused);
  });

  it("runs when no approval is needed", async () => {
    expect(await ask(undefined, text(70_000), takesText)).toBeNull();
  });

  it("is refused in a request that the tool itself creates, including one to a wallet", async () => {
    const typed_data = { message: text(65_536) };
    const signing: Tool = { ...pay, ask: () => ({ kind: "wallet_signature", request: { typed_data } }) };
    expect(await ask(undefined, { amount: 1 }, signing)).toEqual(refused);
  });
});

describe("a tool with its own `ask`", () => {
  const asking = builtInTools(clock).ask_user;

  it("asks its question, with or without choices", async () => {
    expect(await ask(undefined, { question: "Which?", choices: ["a", "b"] }, asking)).toEqual({
      kind: "question",
      request: { question: "Which?", choices: ["a", "b"] },
    });
    expect(await ask("always", { question: "Why?" }, asking)).toEqual({
      kind: "question",
      request: { question: "Why?", choices: [] },
    });
    expect(await ask(undefined, { question: "" }, asking)).toMatchObject({ kind: "deny" });
  });

  it("removes secrets from a question", async () => {
    const question = { question: "Is s3cret-value yours?", choices: ["s3cret-value"] };
    const tools = await withSecret("s3cret-value", asking);
    expect(await tools.decide(asking.name, question)).toMatchObject({
      request: { kind: "question", request: { question: "Is [secret] yours?", choices: ["[secret]"] } },
    });
  });

  it("needs approval when `ask` fails", async () => {
    const failing = { ...pay, ask: () => Promise.reject(new Error("no")) };
    expect(await ask(undefined, { amount: 1 }, failing)).toEqual(approval({ amount: 1 }));
  });

  it.each([
    [
      "a transaction",
      { kind: "wallet_transaction", request: { to: "0x1155", value: "0", data: "0x", chain_id: 1 } },
    ],
    [
      "a chain id",
      { kind: "wallet_transaction", request: { to: "0x", value: "0", data: "0x", chain_id: 1155 } },
    ],
    ["a text to sign", { kind: "wallet_signature", request: { typed_data: { message: "1155 coins" } } }],
  ] as const)(
    "does not ask the wallet when %s contains a secret, because scrubbing would change the request",
    async (_case, request) => {
      const sending: Tool = { ...pay, ask: (): ActionRequest => request };
      const input = { amount: 1 };
      const tools = await withSecret("1155", sending);
      expect(await tools.decide("pay", input)).toEqual({
        kind: "deny",
        output: expect.stringMatching(/^The user's wallet was not asked, because/),
        isError: true,
      });
      const others = await withSecret("another-secret", sending);
      expect(await others.decide("pay", input)).toEqual({ kind: "ask", request });
    },
  );
});
