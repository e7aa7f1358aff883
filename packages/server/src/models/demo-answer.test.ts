import { expect, it, describe } from "vitest";
import { timeZoneOf, answerTo, readToolRequest } from "./demo-answer.ts";

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
