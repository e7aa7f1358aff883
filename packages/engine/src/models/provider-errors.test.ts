import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  LoadAPIKeyError,
  NoContentGeneratedError,
  NoSuchModelError,
} from "@ai-sdk/provider";
import { NoOutputGeneratedError, NoSuchProviderError, RetryError } from "ai";
import { describe, expect, it } from "vitest";
import { describeModelFailure } from "./provider-errors.ts";

function apiError(details: Partial<ConstructorParameters<typeof APICallError>[0]>): APICallError {
  return new APICallError({
    message: "No",
    url: "https://secret.example.com",
    requestBodyValues: {},
    ...details,
  });
}

function withCause(message: string, cause: unknown): Error {
  return new TypeError(message, { cause });
}

const loop = new Error("round and round");
loop.cause = loop;

describe("describeModelFailure", () => {
  it.each<[string, unknown, object]>([
    ["a missing key", new LoadAPIKeyError({ message: "none" }), { code: "model_auth", retryable: false }],
    [
      "an unknown model",
      new NoSuchModelError({ modelId: "x", modelType: "languageModel" }),
      { code: "model_not_found", retryable: false },
    ],
    [
      "an unknown provider",
      new NoSuchProviderError({
        modelId: "x",
        modelType: "languageModel",
        providerId: "y",
        availableProviders: [],
      }),
      { code: "model_not_found", retryable: false },
    ],
    ["an empty answer", new EmptyResponseBodyError(), { code: "model_unavailable", retryable: true }],
    [
      "an answer that broke off",
      new NoContentGeneratedError(),
      { code: "model_unavailable", retryable: true },
    ],
    [
      "an answer without output",
      new NoOutputGeneratedError(),
      { code: "model_unavailable", retryable: true },
    ],
    [
      "an answer with parts missing",
      new InvalidResponseDataError({ data: {} }),
      { code: "model_unavailable", retryable: true },
    ],
    ["an abort", new DOMException("stop", "AbortError"), { code: "model_timeout", retryable: false }],
    ["a time-out", new DOMException("late", "TimeoutError"), { code: "model_timeout", retryable: true }],
    [
      "a slow connection",
      withCause("fetch failed", { code: "UND_ERR_CONNECT_TIMEOUT" }),
      { code: "model_timeout", retryable: true },
    ],
    [
      "a slow answer",
      apiError({ cause: { code: "UND_ERR_BODY_TIMEOUT" } }),
      { code: "model_timeout", retryable: true },
    ],
    [
      "an unknown host",
      apiError({ cause: { code: "ENOTFOUND" }, isRetryable: true }),
      { code: "model_unavailable", retryable: true },
    ],
    [
      "a reset connection",
      Object.assign(new Error("read"), { code: "ECONNRESET" }),
      { code: "model_unavailable", retryable: true },
    ],
    [
      "a bad certificate",
      apiError({ cause: { code: "CERT_HAS_EXPIRED" }, isRetryable: true }),
      { code: "model_unavailable", retryable: true },
    ],
    [
      "a package that cannot be loaded",
      Object.assign(new Error("no"), { code: "ERR_MODULE_NOT_FOUND" }),
      { code: "model_error", retryable: false },
    ],
    ["an error that is its own cause", loop, { code: "model_error", retryable: false }],
    ["null", null, { code: "model_error", retryable: false }],
    ["a text", "boom", { code: "model_error", retryable: false }],
    ["an object", { status: 429 }, { code: "model_error", retryable: false }],
  ])("%s", (_case, error, expected) => {
    expect(describeModelFailure(error)).toMatchObject(expected);
  });

  it("describes the last error of a retry error", () => {
    const errors = [
      apiError({ statusCode: 500 }),
      apiError({ statusCode: 429, responseHeaders: { "retry-after": "3" } }),
    ];
    const error = new RetryError({
      message: "Failed after 2 attempts",
      reason: "maxRetriesExceeded",
      errors,
    });
    expect(describeModelFailure(error)).toMatchObject({
      code: "model_rate_limited",
      retryable: true,
      retryAfterMs: 3_000,
    });
  });

  it("resolves a Retry-After date against the given time", () => {
    const responseHeaders = { "retry-after": "Thu, 01 Jan 2026 00:01:30 GMT" };
    const error = apiError({ statusCode: 503, responseHeaders });
    expect(describeModelFailure(error, Date.UTC(2026, 0, 1)).retryAfterMs).toBe(90_000);
  });
});
