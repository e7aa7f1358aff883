import type { LanguageModelV4ToolResultOutput } from "@ai-sdk/provider";
import { generateText, jsonSchema, type ModelMessage, streamText, type ToolSet, tool } from "ai";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { createDemoModel } from "./demo-model.ts";

const tools: ToolSet = {
  current_time: tool({ description: "", inputSchema: jsonSchema({ type: "object" }) }),
  calculator: tool({ description: "", inputSchema: jsonSchema({ type: "object" }) }),
};

/** Runs one step through the SDK, as a turn does. */
async function step(messages: string | ModelMessage[], options: { tools?: ToolSet } = { tools }) {
  const result = streamText({
    model: createDemoModel(new ManualClock()),
    instructions: "Answer briefly. The wallet 0xabc is claimed by the client, not verified.",
    messages: typeof messages === "string" ? [{ role: "user", content: messages }] : messages,
    onError: () => undefined,
    ...options,
  });
  const types: string[] = [];
  for await (const part of result.stream) types.push(part.type);
  return {
    types,
    text: await result.text,
    calls: (await result.toolCalls).map(({ toolName, input }) => ({ toolName, input })),
    callIds: (await result.toolCalls).map(({ toolCallId }) => toolCallId),
    finishReason: await result.finishReason,
    usage: await result.usage,
    messages: await result.responseMessages,
  };
}

/** Returns the answer to a question after its tool call returned `output`. */
async function stepWithResult(question: string, output: LanguageModelV4ToolResultOutput) {
  const { messages, calls, callIds } = await step(question);
  const [toolCallId = ""] = callIds;
  const toolName = calls[0]?.toolName ?? "";
  const result = { type: "tool-result" as const, toolCallId, toolName, output };
  return step([{ role: "user", content: question }, ...messages, { role: "tool", content: [result] }]);
}

describe("demo/assistant", () => {
  it("introduces itself word by word when greeted", async () => {
    const { text, types, finishReason } = await step("Hello!");
    expect(text).toMatch(/^Hello! I am demo\/assistant, the demo model /);
    expect(finishReason).toBe("stop");
    expect(types.slice(0, 4)).toEqual(["start", "start-step", "text-start", "text-delta"]);
    expect(types.slice(-3)).toEqual(["text-end", "finish-step", "finish"]);
    expect(types.filter((type) => type === "text-delta").length).toBeGreaterThan(20);
  });

  it("quotes any other message, however long", async () => {
    expect((await step("Tell me about whales")).text).toBe(
      'I am the demo model, so all I can do with this is to repeat it. You said: "Tell me about whales"',
    );
    const long = `A ${"very ".repeat(6_000)}long story`;
    const { text, types } = await step(long);
    expect(text.endsWith(`You said: "${long}"`)).toBe(true);
    expect(types.filter((type) => type === "text-delta").length).toBeLessThanOrEqual(64);
  });

  it("repeats Markdown as it is", async () => {
    const table = "# Owners\n\n| Change | Owner |\n|---|---|\n| search | João |";
    expect((await step(table)).text).toBe(
      `I am the demo model, so all I can do with this is to repeat it. You said:\n\n${table}`,
    );
  });

  it("quotes the first user message, not the instructions or itself", async () => {
    const { text } = await step([
      {
        role: "user",
        content: [
          { type: "text", text: "My cat is called Ada." },
          { type: "text", text: "Are you there?" },
        ],
      },
      { role: "assistant", content: "What did you say first?" },
      { role: "user", content: "And my dog Bob." },
      { role: "assistant", content: "I see." },
      { role: "user", content: "What did I say first?" },
    ]);
    expect(text).toBe('The first thing you said was: "My cat is called Ada."');
    expect((await step("what did I say first?")).text).toContain('"what did I say first?"');
  });

  it("answers the last of several messages without an answer", async () => {
    const { text } = await step([
      {
        role: "user",
        content: [
          { type: "text", text: "count to 3" },
          { type: "text", text: "The sky is blue" },
        ],
      },
    ]);
    expect(text).toContain("The sky is blue");
    expect(text).not.toContain("count");
  });

  it("answers the latest message, not an earlier one with a tool result", async () => {
    const earlier = await stepWithResult("what is 2+2?", {
      type: "json",
      value: { expression: "2+2", result: 4 },
    });
    expect(earlier.text).toBe("2+2 = 4.");
    const { text } = await step([
      { role: "user", content: "what is 2+2?" },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "c", toolName: "calculator", input: {} }],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "c",
            toolName: "calculator",
            output: { type: "json", value: 4 },
          },
        ],
      },
      { role: "assistant", content: "2+2 = 4." },
      { role: "user", content: "Thanks" },
    ]);
    expect(text).toContain('"Thanks"');
  });
});

describe("question for a tool", () => {
  it.each([
    ["what time is it", "current_time", {}],
    ["What time is it in Tokyo?", "current_time", { timezone: "Asia/Tokyo" }],
    ["what time is it in Europe/Berlin?", "current_time", { timezone: "Europe/Berlin" }],
    ["what time is it in Atlantis?", "current_time", { timezone: "Atlantis" }],
    ["what is 12 * 7?", "calculator", { expression: "12 * 7" }],
    ["calculate 2^10", "calculator", { expression: "2^10" }],
    ["(3+4)*2", "calculator", { expression: "(3+4)*2" }],
  ])("calls the tool: %s", async (question, toolName, input) => {
    const { types, calls, finishReason, text } = await step(question);
    expect(calls).toEqual([{ toolName, input }]);
    expect(finishReason).toBe("tool-calls");
    expect(text).toBe("");
    expect(types).toEqual([
      "start",
      "start-step",
      "tool-input-start",
      "tool-input-delta",
      "tool-input-end",
      "tool-call",
      "finish-step",
      "finish",
    ]);
  });

  it.each([
    ["what time is it?", "current_time"],
    ["what is 12 * 7?", "calculator"],
  ])("declines if the tool is not offered: %s", async (question, name) => {
    const sentence = `I would ask the tool ${name} for that, but it is not among the tools that I may use here.`;
    const { text, calls } = await step(question, {});
    expect(text).toBe(sentence);
    expect(calls).toEqual([]);
    const model = createDemoModel(new ManualClock());
    expect((await generateText({ model, prompt: question, tools, toolChoice: "none" })).text).toBe(sentence);
  });

  it("calls a tool if it must", async () => {
    const model = createDemoModel(new ManualClock());
    const forced = await generateText({ model, prompt: "hello", tools, toolChoice: "required" });
    expect(forced.toolCalls).toHaveLength(1);
    const named = { type: "tool", toolName: "calculator" } as const;
    const { toolCalls } = await generateText({ model, prompt: "hello", tools, toolChoice: named });
    expect(toolCalls.map(({ toolName }) => toolName)).toEqual(["calculator"]);
  });

  const time = {
    iso: "",
    date: "2026-11-21",
    time: "01:26:40",
    weekday: "Saturday",
    timezone: "Asia/Tokyo",
    unix: 1,
  };
  it.each<[string, LanguageModelV4ToolResultOutput, string]>([
    ["the time", { type: "json", value: time }, "It is 01:26:40 on Saturday, 2026-11-21 (Asia/Tokyo)."],
    [
      "something else",
      { type: "json", value: { tea: "time" } },
      'The tool current_time answered: {"tea":"time"}.',
    ],
    ["a list", { type: "json", value: ["date"] }, 'The tool current_time answered: ["date"].'],
    ["text", { type: "text", value: "Noon." }, "The tool current_time answered: Noon."],
    [
      "parts",
      { type: "content", value: [{ type: "text", text: "Noon" }] },
      "The tool current_time answered: Noon.",
    ],
    [
      "an error",
      { type: "error-text", value: "Unknown time zone" },
      "The tool current_time reported an error: Unknown time zone.",
    ],
    [
      "an error in JSON",
      { type: "error-json", value: { a: 1 } },
      'The tool current_time reported an error: {"a":1}.',
    ],
    [
      "a refusal",
      { type: "execution-denied" },
      "The tool current_time was not allowed to run: no reason was given.",
    ],
  ])("answers from the result of the tool: %s", async (_case, output, sentence) => {
    const { text, calls, finishReason } = await stepWithResult("what time is it?", output);
    expect(text).toBe(sentence);
    expect(calls).toEqual([]);
    expect(finishReason).toBe("stop");
  });

  it("gives every call of a session a unique id, even after an interrupt", async () => {
    const clock = new ManualClock();
    const model = createDemoModel(clock);
    const idOf = async (messages: ModelMessage[]) =>
      (await generateText({ model, messages, tools })).toolCalls[0]?.toolCallId;
    const question: ModelMessage = { role: "user", content: "what time is it?" };
    const first = await idOf([question]);
    const second = await idOf([question, { role: "assistant", content: "Noon." }, question]);
    await clock.advance(1);
    const third = await idOf([question]);
    expect(new Set([first, second, third]).size).toBe(3);
  });
});

describe("counting", () => {
  it.each(["0", "-4", "10001", "2.5", "99999999999999999999"])("refuses to count to %s", async (to) => {
    expect((await step(`count to ${to}`)).text).toBe(
      `I count from 1, by whole numbers, and to at most 10000: not to ${to}.`,
    );
  });
});

describe("usage", () => {
  it("counts one token for every four characters of prompt and answer, rounded up", async () => {
    const model = createDemoModel(new ManualClock());
    const result = await generateText({ model, instructions: "12345", prompt: "count to 3" });
    expect(result.text).toBe("1 2 3");
    expect(result.usage).toMatchObject({ inputTokens: 4, outputTokens: 2, totalTokens: 6 });
  });

  it("counts calls and results", async () => {
    const { usage } = await stepWithResult("what is 2+2?", {
      type: "json",
      value: { expression: "2+2", result: 4 },
    });
    expect(usage.inputTokens).toBe(40);
    expect(usage.outputTokens).toBe(2);
  });
});
