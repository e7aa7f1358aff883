// Tests each provider's real package against a mock that speaks its wire protocol.

import { pathToFileURL } from "node:url";
import {
  experimental_streamLanguageModelCall,
  jsonSchema,
  type ModelMessage,
  streamText,
  type ToolSet,
  tool,
} from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findInstalled } from "../../../../test/installed.ts";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { createModelCatalog } from "./catalog.ts";

const AIMOCK = findInstalled("programs", "@copilotkit/aimock/dist/index.js");

/** The used parts of the mock, and of the module that exports it. */
interface Mock {
  readonly url: string;
  on(request: object, answer: object): void;
  onMessage(text: string, answer: object, pace?: object): void;
  start(): Promise<unknown>;
  stop(): Promise<unknown>;
  getLastRequest(): { readonly path: string; readonly body: unknown } | null;
}
interface MockModule {
  readonly LLMock: new (options: { port: number; host: string }) => Mock;
}

let mock: Mock;
const tools: ToolSet = {
  weather: tool({
    description: "Tells the weather.",
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] }),
  }),
};

beforeAll(async () => {
  const { LLMock } = (await import(pathToFileURL(AIMOCK!).href)) as MockModule;
  mock = new LLMock({ port: 0, host: "127.0.0.1" });
  const usage = {
    prompt_tokens: 11,
    completion_tokens: 7,
    total_tokens: 18,
    input_tokens: 11,
    output_tokens: 7,
    promptTokenCount: 11,
    candidatesTokenCount: 7,
    totalTokenCount: 18,
  };
  mock.on({ hasToolResult: true }, { content: "It rains in Oslo." });
  mock.onMessage("weather", { toolCalls: [{ id: "call_1", name: "weather", arguments: '{"city":"Oslo"}' }] });
  mock.onMessage("hello", { content: "Hello, I am a mock of a model.", usage }, { chunkSize: 5 });
  mock.onMessage("think", { content: "Done.", reasoning: "Let me see.", reasoningSignature: "signed" });
  // Slower than any test's timeout, so that only an abort ends it in time.
  mock.onMessage("long story", { content: "word ".repeat(10_000) }, { chunkSize: 5, latency: 40 });
  await mock.start();
});

afterAll(() => mock.stop());

/** Resolves a model after the mock has its address. */
function resolve(rig: string) {
  const apiKey = "test-key";
  return createModelCatalog({
    clock: new ManualClock(),
    extraModels: {},
    providers: {
      openai: { kind: "openai", baseURL: `${mock.url}/v1`, apiKey },
      anthropic: { kind: "anthropic", baseURL: `${mock.url}/v1`, apiKey },
      google: { kind: "google", baseURL: `${mock.url}/v1beta`, apiKey },
      local: { kind: "openai-compatible", baseURL: `${mock.url}/v1/` },
    },
  }).resolve(rig);
}

describe.skipIf(AIMOCK === null).each([
  ["openai/gpt-5", "/v1/responses"],
  ["anthropic/claude-sonnet-4-5", "/v1/messages"],
  ["google/gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"],
  ["local/llama3.2", "/v1/chat/completions"],
])("%s", (rig, path) => {
  it("streams text and reports its usage", async () => {
    const result = streamText({ model: await resolve(rig), prompt: "hello" });
    const deltas: string[] = [];
    for await (const part of result.stream) if (part.type === "text-delta") deltas.push(part.text);
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.join("")).toBe("Hello, I am a mock of a model.");
    expect(await result.usage).toMatchObject({ inputTokens: 11, outputTokens: 7, totalTokens: 18 });
    expect(await result.finishReason).toBe("stop");
    expect(mock.getLastRequest()?.path).toBe(path);
  });

  it("separates reasoning from text", async () => {
    const result = streamText({ model: await resolve(rig), prompt: "think" });
    expect(await result.text).toBe("Done.");
    expect(await result.reasoningText).toBe("Let me see.");
  });

  it("calls a tool, and answers from its result and a history stored as JSON", async () => {
    const model = await resolve(rig);
    const question: ModelMessage = { role: "user", content: "weather, please" };
    const first = streamText({ model, messages: [question], tools });
    const [call] = await first.toolCalls;
    expect(call).toMatchObject({ toolName: "weather", input: { city: "Oslo" } });
    const result = {
      type: "tool-result" as const,
      toolCallId: call?.toolCallId ?? "",
      toolName: "weather",
      output: { type: "json" as const, value: { rain: true } },
    };
    const stored = JSON.stringify([
      question,
      ...(await first.responseMessages),
      { role: "tool", content: [result] },
    ]);
    const second = streamText({ model, messages: JSON.parse(stored) as ModelMessage[], tools });
    expect(await second.text).toBe("It rains in Oslo.");
    expect(JSON.stringify(mock.getLastRequest()?.body)).toContain('rain\\":true');
  });

  it("stops mid-stream on abort", async () => {
    const stop = new AbortController();
    const result = streamText({
      model: await resolve(rig),
      prompt: "a long story",
      abortSignal: stop.signal,
    });
    const types: string[] = [];
    for await (const part of result.stream) {
      types.push(part.type);
      if (part.type === "text-delta") stop.abort();
    }
    expect(types.at(-1)).toBe("abort");
    expect(types).not.toContain("finish");
  });

  it("stops mid-stream when its reader cancels, without an unhandled rejection", async () => {
    const { stream } = await experimental_streamLanguageModelCall({
      model: await resolve(rig),
      prompt: "a long story",
    });
    const reader = stream.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || value.type === "text-delta") break;
    }
    const pending = reader.read();
    await reader.cancel(new Error("enough"));
    expect(await pending).toEqual({ done: true, value: undefined });
    await new Promise((resolveSoon) => setImmediate(resolveSoon)); // an unhandled rejection would fail the run
  });
});
