// Failures specific to one provider, and errors inside a stream.

import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createProviderCatalog,
  failureOf,
  type Rig,
  rigs,
  secretKey,
} from "../../../server/test/provider-calls.ts";
import { answerJson, ProviderServer, writeEvents } from "../../../server/test/provider-server.ts";

const server = new ProviderServer();
beforeAll(() => server.start());
afterAll(() => server.stop());

function fail(rig: Rig, signal?: AbortSignal) {
  return failureOf(createProviderCatalog(server.url), rig, signal);
}

describe("failure of a single provider", () => {
  const tooLong = { code: "model_context_overflow", retryable: false };
  it.each<[string, Rig, number, unknown]>([
    [
      "OpenAI",
      "openai/gpt-5",
      400,
      {
        error: {
          message: "Your input exceeds the context window of this model.",
          type: "invalid_request_error",
          code: "context_length_exceeded",
        },
      },
    ],
    [
      "Anthropic",
      "anthropic/claude-sonnet-4-5",
      400,
      {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "prompt is too long: 210000 tokens > 200000 maximum",
        },
      },
    ],
    [
      "Anthropic, by size",
      "anthropic/claude-sonnet-4-5",
      413,
      { type: "error", error: { type: "request_too_large", message: "Request exceeds the maximum size" } },
    ],
    [
      "Google",
      "google/gemini-2.5-flash",
      400,
      {
        error: {
          code: 400,
          message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
          status: "INVALID_ARGUMENT",
        },
      },
    ],
    [
      "vLLM",
      "local/llama3.2",
      400,
      {
        object: "error",
        message: "This model's maximum context length is 8192 tokens.",
        type: "BadRequestError",
        code: 400,
      },
    ],
    [
      "llama.cpp",
      "local/llama3.2",
      400,
      {
        error: {
          message: "the request exceeds the available context size",
          type: "exceed_context_size_error",
          code: 400,
        },
      },
    ],
  ])("is a conversation that is too long: %s", async (_case, rig, status, body) => {
    server.answer = answerJson(status, body);
    expect(await fail(rig)).toMatchObject(tooLong);
  });

  it.each<[string, Rig, number, string]>([
    ["PIL behind vLLM", "local/llama3.2", 500, "cannot identify image file <_io.BytesIO object at 0x7f>"],
    ["llama.cpp", "local/llama3.2", 500, "failed to load image or audio file"],
    ["Google", "google/gemini-2.5-flash", 400, "Unable to process input image. Please retry."],
    [
      "Anthropic",
      "anthropic/claude-sonnet-4-5",
      400,
      "messages.9.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
    ],
    ["a gateway", "local/llama3.2", 403, "Image input is not enabled for this model."],
    ["Anthropic, a PDF", "anthropic/claude-sonnet-4-5", 400, "The PDF specified is password protected."],
  ])("is a file that the model does not read: %s", async (_case, rig, status, message) => {
    server.answer = answerJson(status, { error: { message } });
    expect(await fail(rig)).toMatchObject({ code: "model_error", retryable: false, refusesFiles: true });
  });

  it.each<[string, Rig, string]>([
    [
      "DashScope",
      "local/llama3.2",
      "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode",
    ],
    ["DeepSeek", "local/llama3.2", "Thinking mode does not support this tool_choice"],
    [
      "Anthropic",
      "anthropic/claude-sonnet-4-5",
      "Thinking may not be enabled when tool_choice forces tool use.",
    ],
  ])("says that a thinking model cannot be forced to call a tool: %s", async (_case, rig, message) => {
    server.answer = answerJson(400, { error: { message } });
    expect((await fail(rig))?.message).toContain("cannot be forced to call a tool");
  });

  it("recognizes Google's 400 for an invalid key", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }];
    server.answer = answerJson(400, {
      error: {
        code: 400,
        message: "API key not valid. Please pass a valid API key.",
        status: "INVALID_ARGUMENT",
        details,
      },
    });
    expect(await fail("google/gemini-2.5-flash")).toMatchObject({
      code: "model_auth",
      retryable: false,
    });
  });

  it("reads Google's retry delay", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "37.5s" }];
    const message = "You exceeded your current quota, please check your plan.";
    server.answer = answerJson(429, { error: { code: 429, message, status: "RESOURCE_EXHAUSTED", details } });
    expect(await fail("google/gemini-2.5-flash")).toMatchObject({
      code: "model_rate_limited",
      retryable: true,
      retryAfterMs: 37_500,
    });
  });

  it.each<[string, Rig, number, unknown]>([
    [
      "OpenAI",
      "openai/gpt-5",
      429,
      {
        error: {
          message: "You exceeded your current quota",
          type: "insufficient_quota",
          code: "insufficient_quota",
        },
      },
    ],
    [
      "Anthropic",
      "anthropic/claude-sonnet-4-5",
      400,
      {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "Your credit balance is too low to access the Anthropic API.",
        },
      },
    ],
    ["a gateway", "local/llama3.2", 402, { error: { message: "Insufficient credits", code: 402 } }],
  ])("is an account without credit, which no retry helps: %s", async (_case, rig, status, body) => {
    server.answer = answerJson(status, body);
    const failure = await fail(rig);
    expect(failure).toMatchObject({ code: "model_rate_limited", retryable: false });
    expect(failure?.message).toContain("no credit or quota left");
  });

  it("recognizes content refusals", async () => {
    const error = {
      message: "Blocked by our moderation system",
      type: "image_generation_user_error",
      code: "content_policy_violation",
    };
    server.answer = answerJson(400, { error });
    for (const rig of ["openai/gpt-5", "local/llama3.2"] as const) {
      expect(await fail(rig)).toMatchObject({ code: "model_refused", retryable: false });
    }
  });
});

describe("error inside a stream", () => {
  it("is classified by its type for Anthropic", async () => {
    const start = {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        content: [],
        model: "claude",
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    };
    const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
    const text = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } };
    const error = { type: "error", error: { type: "overloaded_error", message: `Overloaded ${secretKey}` } };
    server.answer = (response) => {
      writeEvents(response, [
        ["message_start", start],
        ["content_block_start", block],
        ["content_block_delta", text],
        ["error", error],
      ]);
      response.end();
    };
    expect(await fail("anthropic/claude-sonnet-4-5")).toMatchObject({
      code: "model_unavailable",
      retryable: true,
    });
  });

  it.each([
    ["rate_limit_exceeded", "model_rate_limited", true],
    ["server_error", "model_unavailable", true],
    ["context_length_exceeded", "model_context_overflow", false],
  ])("is classified by its code %s for OpenAI", async (code, expected, retryable) => {
    server.answer = (response) => {
      writeEvents(response, [
        [null, { type: "response.created", response: { id: "r", created_at: 1, model: "gpt-5" } }],
        [
          null,
          { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1" } },
        ],
        [null, { type: "response.output_text.delta", item_id: "msg_1", delta: "Hel" }],
        [
          null,
          {
            type: "error",
            sequence_number: 3,
            error: { type: "error", code, message: `Sorry ${secretKey}` },
          },
        ],
      ]);
      response.end();
    };
    expect(await fail("openai/gpt-5")).toMatchObject({ code: expected, retryable });
  });

  it("is classified by its code for a compatible server", async () => {
    server.answer = (response) => {
      writeEvents(response, [
        [null, { id: "c", choices: [{ index: 0, delta: { role: "assistant", content: "Hel" } }] }],
        [
          null,
          { error: { message: `Slow down ${secretKey}`, type: "rate_limit_error", code: "rate_limit" } },
        ],
      ]);
      response.end();
    };
    expect(await fail("local/llama3.2")).toMatchObject({ code: "model_rate_limited", retryable: true });
  });
});

describe("an oversized response of a provider", () => {
  const MIB = 1_024 * 1_024;
  const answerGzip = (status: number, type: string, text: string): ProviderServer["answer"] => {
    const packed = gzipSync(text);
    return (response) => {
      response.writeHead(status, { "content-type": type, "content-encoding": "gzip" });
      // Never ends, so that only the limit does.
      response.write(packed);
    };
  };

  it("is classified by its status, and its connection is closed", async () => {
    server.answer = answerGzip(429, "application/json", " ".repeat(4 * MIB + 1));
    for (const rig of rigs) {
      server.requests.length = 0;
      expect(await fail(rig)).toMatchObject({ code: "model_rate_limited", retryable: true });
      await server.requests[0]?.closed;
    }
  });

  it("fails as a stream beyond 64 MiB, and its connection is closed", async () => {
    server.requests.length = 0;
    server.answer = answerGzip(200, "text/event-stream", `: ${" ".repeat(64 * MIB)}`);
    expect(await fail("local/llama3.2")).toMatchObject({ code: "model_error" });
    await server.requests[0]?.closed;
  });
});
