// Requests as sent to a provider.

import { experimental_streamLanguageModelCall, type ModelMessage } from "ai";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createProviderCatalog,
  failureOf,
  type Rig,
  rigs,
  secretKey,
} from "../../../server/test/provider-calls.ts";
import { answerJson, ProviderServer } from "../../../server/test/provider-server.ts";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { createModelCatalog, type ProviderSettings } from "./catalog.ts";

const SCHEMA = { type: "object", properties: { city: { type: "string" } } } as const;
const server = new ProviderServer();
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => void (server.requests.length = 0));
afterEach(() => void vi.unstubAllEnvs());

function fail(rig: Rig, signal?: AbortSignal) {
  return failureOf(createProviderCatalog(server.url), rig, signal);
}

describe("provider request", () => {
  it("contains the key and the configured headers", async () => {
    server.answer = answerJson(500, {});
    for (const rig of rigs) await fail(rig);
    expect(server.requests.map(({ path }) => path)).toEqual([
      "/responses",
      "/messages",
      "/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
      "/chat/completions",
    ]);
    const [openai, anthropic, google, local] = server.requests.map(({ headers }) => headers);
    expect(openai?.authorization).toBe(`Bearer ${secretKey}`);
    expect(anthropic?.["x-api-key"]).toBe(secretKey);
    expect(google?.["x-goog-api-key"]).toBe(secretKey);
    expect(local?.authorization).toBe(`Bearer ${secretKey}`);
    for (const { headers } of server.requests) expect(headers["x-project"]).toBe("demo");
  });

  it("never takes a key or a base URL from the environment", async () => {
    for (const name of ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"])
      vi.stubEnv(name, secretKey);
    const catalog = createProviderCatalog(server.url, null);
    for (const rig of rigs.slice(0, 3)) {
      expect(await failureOf(catalog, rig)).toMatchObject({
        code: "model_auth",
        retryable: false,
      });
    }
    expect(server.requests).toEqual([]);
    server.answer = answerJson(500, {});
    await failureOf(catalog, "local/llama3.2");
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it.each<[settings: Partial<ProviderSettings>, body: Readonly<Record<string, unknown>>]>([
    [
      {},
      {
        tool_choice: "auto",
        stream_options: { include_usage: true },
        response_format: { type: "json_object" },
      },
    ],
    [{ toolChoice: false }, { tool_choice: undefined }],
    [{ streamUsage: false }, { stream_options: undefined }],
    [{ parallelToolCalls: false }, { parallel_tool_calls: false }],
    [{ jsonAnswers: "off" }, { response_format: undefined }],
    [
      { jsonAnswers: "json_schema" },
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "response", schema: SCHEMA, strict: false },
        },
      },
    ],
    [{ body: { top_k: 20, stream_options: null } }, { top_k: 20, stream_options: null }],
  ])("of a compatible server with the settings %j has %j", async (settings, expected) => {
    server.answer = answerJson(500, {});
    const local: ProviderSettings = { kind: "openai-compatible", baseURL: server.url, ...settings };
    const catalog = createModelCatalog({ clock: new ManualClock(), extraModels: {}, providers: { local } });
    const model = await catalog.resolve("local/llama3.2");
    await expect(
      model.doStream({
        prompt: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
        tools: [{ type: "function", name: "weather", inputSchema: { type: "object" } }],
        toolChoice: { type: "auto" },
        responseFormat: { type: "json", schema: SCHEMA },
      }),
    ).rejects.toThrow();
    const body = server.requests[0]?.body ?? {};
    for (const [name, value] of Object.entries(expected)) expect([name, body[name]]).toEqual([name, value]);
  });

  it("requests usage from a compatible server", async () => {
    server.answer = answerJson(500, {});
    await fail("local/llama3.2");
    expect(server.requests[0]?.body["stream_options"]).toEqual({ include_usage: true });
  });

  it("disables storage at OpenAI, and sends the history instead of references", async () => {
    server.answer = answerJson(500, {});
    const catalog = createProviderCatalog(server.url);
    const metadata = (itemId: string) => ({ providerOptions: { openai: { itemId } } });
    const reasoning = { openai: { itemId: "rs_1", reasoningEncryptedContent: "sealed" } };
    const messages: ModelMessage[] = [
      { role: "user", content: "What is 2+2?" },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "", providerOptions: reasoning },
          { type: "text", text: "Let me see.", ...metadata("msg_1") },
          { type: "tool-call", toolCallId: "call_1", toolName: "calculator", input: {}, ...metadata("fc_1") },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "call_1",
            toolName: "calculator",
            output: { type: "json", value: 4 },
          },
        ],
      },
    ];
    const model = await catalog.resolve("openai/gpt-5");
    await expect(experimental_streamLanguageModelCall({ model, messages })).rejects.toThrow();
    const body = server.requests[0]?.body;
    expect(body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    expect(JSON.stringify(body?.["input"])).not.toContain("item_reference");
    expect(JSON.stringify(body?.["input"])).toContain("Let me see.");
    expect(JSON.stringify(body?.["input"])).toContain("sealed");
    await expect(
      experimental_streamLanguageModelCall({ model, messages, providerOptions: { openai: { store: true } } }),
    ).rejects.toThrow();
    expect(server.requests[1]?.body["store"]).toBe(true);
  });
});
