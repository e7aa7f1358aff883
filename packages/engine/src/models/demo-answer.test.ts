import { expect, it, describe } from "vitest";
import { timeZoneOf, answerTo, readToolRequest } from "./demo-answer.ts";
import { readIntent } from "./demo-intent.ts";

it.each([
  ["Tokyo", "Asia/Tokyo"],
  ["tokyo", "Asia/Tokyo"],
  ["new york", "America/New_York"],
  ["São Paulo", "America/Sao_Paulo"],
  ["St. John's", "America/St_Johns"],
  ["Kolkata", "Asia/Kolkata"],
  ["Buenos Aires", "America/Buenos_Aires"],
  ["Ushuaia", "America/Argentina/Ushuaia"],
  ["Europe/Berlin", "Europe/Berlin"],
  ["UTC", "UTC"],
  ["+05:30", "+05:30"],
  ["Atlantis", "Atlantis"],
  ["the kitchen", "the kitchen"],
  ["", ""],
])("maps %s to %s", (place, zone) => {
  expect(timeZoneOf(place)).toBe(zone);
});

const tools = new Set(["lookup_order", "calculator"]);

function answerOf(lastMessage: string, offered: ReadonlySet<string> = tools) {
  return answerTo({ firstMessage: null, lastMessage, results: [] }, offered, 20);
}

describe("message that names a tool", () => {
  it.each([
    ['call lookup_order {"id": 7}', { id: 7 }],
    ['Please use the tool lookup_order with {"id": {"deep": ["}"]}}.', { id: { deep: ["}"] } }],
    ['run lookup_order\n{\n  "id": "two  spaces"\n}', { id: "two  spaces" }],
    ["call lookup_order", {}],
    ["Call lookup_order {not json}", null],
    ["call lookup_order {[1]}", null],
  ])("calls the tool: %s", (message, input) => {
    expect(readToolRequest(message)).toEqual({ tool: "lookup_order", input });
  });

  it.each(["I call lookup_order {}", "call lookup_order and then me", "call"])(
    "is quoted if it requests no call: %s",
    (message) => {
      expect(readToolRequest(message)).toBeNull();
    },
  );

  it("reports invalid input", () => {
    expect(answerOf("call lookup_order {id}")).toMatchObject({
      kind: "text",
      text: expect.stringContaining("JSON object"),
    });
  });

  it.each(["call mum", "use calculators {}"])("lists the tools if it names no offered one: %s", (message) => {
    expect(answerOf(message)).toMatchObject({
      kind: "text",
      text: expect.stringMatching(/^There is no tool \w+ here\. My tools here: lookup_order, calculator\. /),
    });
  });
});

describe("question about tools", () => {
  it.each([
    "what tools do you have?",
    "Which tools can you use here?",
    "What are your tools?",
    "list tools",
    "show me all the available tools",
  ])("lists them: %s", (message) => {
    expect(answerOf(message)).toEqual({
      kind: "text",
      text: 'My tools here: lookup_order, calculator. Write "call NAME {json}" to try one.',
    });
  });

  it("reports that there are none", () => {
    expect(answerOf("what tools do you have?", new Set())).toMatchObject({
      text: expect.stringContaining("no tools here"),
    });
  });

  it.each(["I like tools", "what is a tool?"])("is not recognized in %s", (message) => {
    expect(readIntent(message).kind).toBe("other");
  });
});

describe("order of tea", () => {
  it.each([
    ["order tea", 1],
    ["Please order 2 cups of tea!", 2],
    ["order me a cup of tea", 1],
    ["order 0 cups of tea", 1],
  ])("calls the tool that needs approval: %s", (message, cups) => {
    expect(answerOf(message, new Set(["order_tea"]))).toEqual({
      kind: "tool-call",
      tool: "order_tea",
      input: { cups },
    });
  });

  it("says how to get approvals if the tool is not offered", () => {
    expect(answerOf("order tea")).toMatchObject({ text: expect.stringContaining("approvals") });
  });
});

describe("counting in steps", () => {
  const counting = new Set(["continue_counting"]);

  /** Returns the steps' numbers, as a turn would run the steps. */
  function stepsOf(to: number, maxSteps: number): readonly number[][] {
    const steps: number[][] = [];
    let results: Parameters<typeof answerTo>[0]["results"] = [];
    for (;;) {
      const lastMessage = `count to ${to}`;
      const answer = answerTo({ firstMessage: lastMessage, lastMessage, results }, counting, maxSteps);
      if (answer.kind !== "count") throw new Error(answer.kind);
      const { from, to: last, call } = answer;
      steps.push(Array.from({ length: last - from + 1 }, (_, index) => from + index));
      if (call === null) return steps;
      const output = { type: "json" as const, value: call.input };
      results = [{ type: "tool-result", toolCallId: "c", toolName: call.tool, output }];
    }
  }

  it.each([
    [1, 20, 1],
    [20, 20, 1],
    [21, 20, 2],
    [200, 20, 10],
    [300, 16, 15],
    [301, 1000, 15],
    [10_000, 20, 15],
    [10_000, 15, 14],
    [10_000, 5, 4],
    [10_000, 2, 1],
    [10_000, 1, 1],
  ])("counts to %i, with maxSteps %i, in %i steps", (to, maxSteps, count) => {
    const steps = stepsOf(to, maxSteps);
    expect(steps).toHaveLength(count);
    expect(steps.flat()).toEqual(Array.from({ length: to }, (_, index) => index + 1));
    const sizes = steps.slice(0, -1).map(({ length }) => length);
    expect(new Set(sizes).size).toBeLessThanOrEqual(1);
    expect(steps.at(-1)?.length).toBeLessThanOrEqual(sizes[0] ?? to);
  });

  it("continues after the last finished step, even if the limit has changed", () => {
    const output = { type: "json" as const, value: { next: 150 } };
    const results = [
      { type: "tool-result" as const, toolCallId: "c", toolName: "continue_counting", output },
    ];
    expect(answerTo({ firstMessage: null, lastMessage: "count to 200", results }, counting, 2)).toEqual({
      kind: "count",
      from: 150,
      to: 200,
      call: null,
    });
  });

  it("counts in one step if the call is not offered", () => {
    expect(answerOf("count to 200")).toEqual({ kind: "count", from: 1, to: 200, call: null });
  });

  it("reports a call that failed", () => {
    const output = { type: "error-text" as const, value: "interrupted" };
    const results = [
      { type: "tool-result" as const, toolCallId: "c", toolName: "continue_counting", output },
    ];
    expect(
      answerTo({ firstMessage: null, lastMessage: "count to 200", results }, counting, 20),
    ).toMatchObject({ kind: "text", text: expect.stringContaining("interrupted") });
  });
});
