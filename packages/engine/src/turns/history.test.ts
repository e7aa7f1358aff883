import fc from "fast-check";
import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../core/json.ts";
import type { PastTurn } from "../core/ports/driven/store.ts";
import { NO_USAGE, type TurnState } from "../core/turn.ts";
import { historyBudget, HistoryWindow } from "./history.ts";
import { noteOrigin, promptOf } from "./prompt.ts";
import { type PastSpec, pastTurn } from "./testing/past-turn.ts";

const PLENTY = 1_000_000;
const RULES = { origin: "o", callIds: "word", alternates: false, reasoning: "always" } as const;

function messagesOf(window: HistoryWindow): ModelMessage[] {
  return promptOf(window.entries(), RULES, "native");
}

function pasts(...specs: readonly PastSpec[]): PastTurn[] {
  return specs.map((spec, index) => pastTurn(index + 1, spec));
}

/** Abbreviates each message: role, then text, calls (`?id`) and results (`!id`). */
function short(messages: readonly ModelMessage[]): string[] {
  return messages.map(({ role, content }) => {
    if (typeof content === "string") return `${role}: ${content}`;
    const parts = (content as unknown as readonly JsonObject[]).map((part) => {
      if (part["type"] === "text") return part["text"] as string;
      return `${part["type"] === "tool-call" ? "?" : "!"}${part["toolCallId"] as string}`;
    });
    return `${role}: ${parts.join(" ")}`;
  });
}

function bytesOf(messages: readonly ModelMessage[]): number {
  return Buffer.byteLength(JSON.stringify(messages));
}

describe("HistoryWindow", () => {
  it("contains each turn's message and steps in order, each call followed by its result", () => {
    const turns = pasts(
      { user: "one", steps: [["let me see", ["a", "b"]], ["done"]] },
      { user: "two", state: "running" },
    );
    expect(short(messagesOf(new HistoryWindow(turns, RULES, PLENTY)))).toEqual([
      "user: one",
      "assistant: let me see ?a ?b",
      "tool: !a !b",
      "assistant: done",
      "user: two",
    ]);
  });

  describe("of a turn that has read other messages", () => {
    /** The turn reads "two" before its second step; its last message has the text of that step and `rest`. */
    const steered = (state: TurnState, rest = ""): PastTurn => {
      const steps = [
        ["first", ["a"]],
        ["second", ["b"]],
      ] as const;
      const turn = pastTurn(1, { user: "one", steps, state });
      const agent = turn.agentMessage!;
      const extras = { steering: { status: "read", step: 2 } } as const;
      return {
        ...turn,
        steered: [
          { ...agent, content: "first", toolResults: agent.toolResults.slice(0, 1) },
          { ...agent, role: "user", content: "two", toolResults: [], extras },
        ],
        agentMessage: {
          ...agent,
          content: ["second", ...(rest === "" ? [] : [rest])].join("\n\n"),
          toolResults: agent.toolResults.slice(1),
          extras: { steps: { from: 2 } },
        },
      };
    };

    it("has them before the step that read them first", () => {
      expect(short(messagesOf(new HistoryWindow([steered("running")], RULES, PLENTY)))).toEqual([
        "user: one",
        "assistant: first ?a",
        "tool: !a",
        "user: two",
        "assistant: second ?b",
        "tool: !b",
      ]);
    });

    it("ends with the unfinished text of its last message", () => {
      const prompt = messagesOf(new HistoryWindow([steered("interrupted", "so far")], RULES, PLENTY));
      expect(short(prompt).at(-1)).toBe("assistant: so far");
    });

    it("keeps them when its oldest steps are dropped", () => {
      expect(short(messagesOf(new HistoryWindow([steered("running")], RULES, 1)))).toEqual([
        "user: one two",
        "assistant: second ?b",
        "tool: !b",
      ]);
    });
  });

  it("keeps the parts of a step of the same origin", () => {
    const parts = [
      { type: "reasoning", text: "", providerOptions: { anthropic: { signature: "s" } } },
      { type: "text", text: "x" },
    ];
    const stored = noteOrigin(parts, RULES.origin, "native");
    const turn = pastTurn(1, { user: "one" });
    const step = { number: 1, text: "x", parts: stored, usage: NO_USAGE, finishReason: "stop" };
    expect(messagesOf(new HistoryWindow([{ ...turn, steps: [step] }], RULES, PLENTY))[1]).toEqual({
      role: "assistant",
      content: parts,
    });
  });

  it("shows the model a null output", () => {
    const [turn] = pasts({ user: "one", steps: [["", ["a"]]], results: { a: null } });
    expect(messagesOf(new HistoryWindow([turn!], RULES, PLENTY))[2]).toMatchObject({
      content: [{ output: { type: "json", value: null } }],
    });
  });

  it("marks results as text, JSON or error", () => {
    const [turn] = pasts({
      user: "one",
      steps: [["", ["text", "json", "none"]]],
      results: { text: "4", json: { a: 1 } },
    });
    const content = messagesOf(new HistoryWindow([turn!], RULES, PLENTY))[2]
      ?.content as unknown as JsonObject[];
    expect(content.map(({ output }) => output)).toEqual([
      { type: "text", value: "4" },
      { type: "json", value: { a: 1 } },
      { type: "error-text", value: "interrupted" },
    ]);
  });

  it("contains the unfinished text of an interrupted turn, but not of the running one", () => {
    const turns = pasts(
      { user: "one", state: "interrupted", steps: [["first", ["a"]]], rest: "and th" },
      { user: "two", state: "failed", rest: "only this" },
      { user: "three", state: "running", steps: [["so far", ["c"]]], rest: "not this" },
    );
    expect(short(messagesOf(new HistoryWindow(turns, RULES, PLENTY)))).toEqual([
      "user: one",
      "assistant: first ?a",
      "tool: !a",
      "assistant: and th",
      "user: two",
      "assistant: only this",
      "user: three",
      "assistant: so far ?c",
      "tool: !c",
    ]);
  });

  it("omits the answer of a turn without one", () => {
    const turns = [{ ...pastTurn(1, { user: "one" }), agentMessage: null }, pastTurn(2, { user: "two" })];
    expect(short(messagesOf(new HistoryWindow(turns, RULES, PLENTY)))).toEqual(["user: one two"]);
  });

  it("drops whole turns, oldest first, to fit the budget to the byte", () => {
    const turns = pasts(
      { user: "one", steps: [["a".repeat(100)]] },
      { user: "two", steps: [["é".repeat(100)]] },
      { user: "three", state: "running" },
    );
    const all = messagesOf(new HistoryWindow(turns, RULES, PLENTY));
    // Each block is measured as its own array.
    const size = (from: number) => all.slice(from).reduce((sum, message) => sum + bytesOf([message]), 0);
    expect(messagesOf(new HistoryWindow(turns, RULES, size(0)))).toEqual(all);
    expect(messagesOf(new HistoryWindow(turns, RULES, size(0) - 1))).toEqual(all.slice(2));
    expect(messagesOf(new HistoryWindow(turns, RULES, size(2) - 1))).toEqual(all.slice(4));
    expect(messagesOf(new HistoryWindow(turns, RULES, 0))).toEqual(all.slice(4));
  });

  it("drops older turns as the running turn grows", () => {
    const turns = pasts({ user: "one", steps: [["a".repeat(300)]] }, { user: "two", state: "running" });
    const window = new HistoryWindow(turns, RULES, 700);
    expect(messagesOf(window)).toHaveLength(3);
    const step = pastTurn(9, { user: "", steps: [["b".repeat(300), ["c"]]] }).steps[0]!;
    window.addStep(9, step, new Map([["c", { output: 1, is_error: false }]]));
    expect(short(messagesOf(window))).toEqual(["user: two", `assistant: ${"b".repeat(300)} ?c`, "tool: !c"]);
  });

  it("drops the oldest steps of an oversized turn, but never its message or its last step", () => {
    const large = "x".repeat(500);
    const turns = pasts({
      user: "question",
      state: "running",
      steps: [
        [large, ["a"]],
        [large, ["b"]],
        ["last", ["c"]],
      ],
    });
    expect(short(messagesOf(new HistoryWindow(turns, RULES, 1_200)))).toEqual([
      "user: question",
      `assistant: ${large} ?b`,
      "tool: !b",
      "assistant: last ?c",
      "tool: !c",
    ]);
    expect(short(messagesOf(new HistoryWindow(turns, RULES, 10)))).toEqual([
      "user: question",
      "assistant: last ?c",
      "tool: !c",
    ]);
  });

  it("always starts with a user message, pairs calls with results, and stays within its budget", () => {
    const step = fc.tuple(fc.string({ maxLength: 60 }), fc.array(fc.constant(0), { maxLength: 3 }));
    const turn = fc.record({
      user: fc.string({ minLength: 1, maxLength: 80 }),
      state: fc.constantFrom<TurnState>("complete", "interrupted", "failed"),
      steps: fc.array(step, { maxLength: 4 }),
      answered: fc.integer({ min: 0, max: 12 }),
      rest: fc.string({ maxLength: 30 }),
    });
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), fc.nat(3_000), (specs, budget) => {
        const turns = specs.map(({ steps, answered, ...spec }, index) => {
          let id = 0;
          const named = steps.map(([text, calls]) => [text, calls.map(() => `${index}-${id++}`)] as const);
          const ids = named.flatMap(([, calls]) => calls).slice(0, answered);
          return pastTurn(index + 1, {
            ...spec,
            steps: named,
            results: Object.fromEntries(ids.map((id) => [id, 1])),
          });
        });
        const window = new HistoryWindow(turns, RULES, budget);
        const messages = messagesOf(window);
        expectPairs(messages);
        expect(messages[0]?.role).toBe("user");
        const entries = window.entries();
        const all = new HistoryWindow(turns, RULES, PLENTY).entries();
        if (entries.filter(({ kind }) => kind === "user").length > 1) {
          // With more than the last turn, it is a suffix of whole turns within the budget.
          expect(entries).toEqual(all.slice(all.length - entries.length));
          expect(messages.reduce((sum, message) => sum + bytesOf([message]) - 2, 0)).toBeLessThanOrEqual(
            budget,
          );
        }
      }),
    );
  });
});

/** Expects every call's result in the next message, in the order of the calls. */
function expectPairs(messages: readonly ModelMessage[]): void {
  messages.forEach(({ role, content }, index) => {
    if (typeof content === "string") return;
    const ids = callIds({ content });
    if (ids.length === 0) return;
    const neighbour = messages[role === "tool" ? index - 1 : index + 1]!;
    expect(neighbour.role).toBe(role === "tool" ? "assistant" : "tool");
    expect(callIds(neighbour)).toEqual(ids);
  });
}

function callIds({ content }: Pick<ModelMessage, "content">): string[] {
  return (content as unknown as readonly JsonObject[])
    .filter(({ type }) => type === "tool-call" || type === "tool-result")
    .map(({ toolCallId }) => toolCallId as string);
}

describe("historyBudget", () => {
  it("is three quarters of the context window at three bytes per token, minus the instructions", () => {
    expect(historyBudget(1_000, "")).toBe(2_250);
    expect(historyBudget(1_000, "é".repeat(10))).toBe(2_230);
    expect(historyBudget(10, "x".repeat(100))).toBe(0);
  });
});
