import { describe, expect, it } from "vitest";
import { answerTo } from "./answer.ts";
import { readToolRequest } from "./tool-request.ts";

const tools = new Set(["lookup_order", "calculator"]);

describe("message that names a tool", () => {
  it.each([
    ['call lookup_order {"id": 7}', { id: 7 }],
    ['Please use the tool lookup_order with {"id": {"deep": ["}"]}}.', { id: { deep: ["}"] } }],
    ['run lookup_order\n{\n  "id": "two  spaces"\n}', { id: "two  spaces" }],
    ["call lookup_order", {}],
    ["Call lookup_order {not json}", null],
    ["call lookup_order {[1]}", null],
  ])("calls the tool: %s", (message, input) => {
    expect(readToolRequest(message, tools)).toEqual({ tool: "lookup_order", input });
  });

  it.each([
    "call mum",
    "use calculators {}",
    "I call lookup_order {}",
    "call lookup_order and then me",
    "call",
  ])("is quoted if it names no offered tool: %s", (message) => {
    expect(readToolRequest(message, tools)).toBeNull();
  });

  it("reports invalid input", () => {
    const conversation = { firstMessage: null, lastMessage: "call lookup_order {id}", results: [] };
    expect(answerTo(conversation, tools)).toMatchObject({
      kind: "text",
      text: expect.stringContaining("JSON object"),
    });
  });
});
