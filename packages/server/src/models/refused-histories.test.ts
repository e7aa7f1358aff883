// Error bodies of real providers and servers, and whether a plainer history may help. Add a row for each body that
// a report shows.

import { APICallError } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { describeModelFailure } from "./provider-errors.ts";

function describeBody(status: number, message: string, type = "invalid_request_error") {
  return describeModelFailure(
    new APICallError({
      message,
      url: "http://127.0.0.1/v1/chat/completions",
      requestBodyValues: {},
      statusCode: status,
      responseBody: JSON.stringify({ error: { message, type } }),
    }),
  );
}

describe("a provider's refusal", () => {
  it.each<[source: string, status: number, message: string]>([
    [
      "Mistral",
      400,
      "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    ],
    ["Mistral", 400, "Unexpected role 'user' after role 'tool'"],
    ["Mistral", 400, "Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9."],
    ["Anthropic", 400, "messages: text content blocks must contain non-whitespace text"],
    [
      "Anthropic",
      400,
      "messages.4: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01",
    ],
    ["Anthropic", 400, "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"],
    ["OpenAI", 400, "Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64"],
    ["OpenAI", 400, "No tool output found for function call call_abc."],
    ["OpenAI", 400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."],
    ["OpenAI", 400, "The encrypted content gAAA could not be verified."],
    [
      "Google",
      400,
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ],
    ["Google", 400, "Function call is missing a thought_signature in functionCall parts."],
    ["vLLM", 400, "Conversation roles must alternate user/assistant/user/assistant/..."],
    [
      "llama.cpp",
      500,
      "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...",
    ],
    ["LM Studio", 500, 'Error rendering prompt with jinja template: "Conversation roles must alternate"'],
    ["DeepSeek", 422, "messages[2]: missing field `content`"],
  ])(
    "of %s with %s about the form of the history, %s, asks for a plain history and is not retried",
    (_, status, message) => {
      expect(describeBody(status, message)).toMatchObject({
        code: "model_error",
        retryable: false,
        refusesHistory: true,
      });
    },
  );

  it.each<[source: string, status: number, message: string]>([
    ["Ollama", 400, "registry.ollama.ai/library/gemma:2b does not support tools"],
    ["OpenAI", 400, "Invalid schema for function 'f': In context=(), object schema missing properties."],
    ["OpenAI", 400, "Unsupported parameter: 'max_tokens' is not supported with this model."],
    ["OpenAI", 400, "Unknown parameter: 'reasoning_effort'."],
    ["Anthropic", 400, "tools.0.custom.input_schema: JSON schema is invalid."],
    [
      "Google",
      400,
      "Invalid JSON payload received. Unknown name \"$ref\" at 'tools[0].function_declarations[0]'",
    ],
    ["Groq", 400, "response_format `json_schema` is not supported by this model"],
    ["OpenAI", 400, "This model's maximum context length is 8192 tokens."],
    ["OpenAI", 429, "Rate limit reached"],
    ["OpenAI", 500, "The server had an error while processing your request"],
  ])("of %s with %s about something else, %s, does not", (_, status, message) => {
    expect(describeBody(status, message)).not.toHaveProperty("refusesHistory");
  });

  it("is not treated as an overload if a 400 has the type `api_error`", () => {
    expect(describeBody(400, "model does not support tools", "api_error")).toMatchObject({
      code: "model_error",
      retryable: false,
    });
  });
});
