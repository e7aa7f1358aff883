// Maps errors of providers and their packages to user-facing messages. A provider's own text is used only for
// classification and is never passed on: it may contain keys, addresses, account names and parts of the
// conversation.

import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  LoadAPIKeyError,
  LoadSettingError,
  NoContentGeneratedError,
  NoSuchModelError,
} from "@ai-sdk/provider";
import { isJsonObject } from "../core/json.ts";
import type { ModelFailure } from "../core/ports/driven/model.ts";
import { ProxyFailure } from "../core/proxies.ts";

export type ModelFailureCode =
  | "model_auth"
  | "model_rate_limited"
  | "model_timeout"
  | "model_refused"
  | "model_unavailable"
  | "model_not_found"
  | "model_context_overflow"
  | "model_error";

const messages = {
  model_auth:
    "The assistant's model provider refused the server's credentials. Ask the operator to check the provider's API key.",
  model_rate_limited:
    "The assistant's model provider gets too many requests from this server at the moment. Try again in a while.",
  model_timeout: "The assistant's model did not answer in time. Try again.",
  model_refused:
    "The assistant's model provider refused this message because of its rules on content. Try to say it differently.",
  model_unavailable:
    "The assistant's model provider is overloaded or cannot be reached. Try again in a while.",
  model_not_found:
    "The assistant's model provider does not have this model, or not for this server. Choose another model, or ask the operator.",
  model_context_overflow:
    "This conversation is too long for the assistant's model. Start a new one, or choose a model that takes more.",
  model_error:
    "The assistant's model failed in a way that the server does not know. Try again, or ask the operator to look at the log.",
} as const satisfies Record<ModelFailureCode, string>;

const quotaMessage =
  "The server's account at the assistant's model provider has no credit or quota left. Ask the operator to check the account.";

/** A provider's error, normalized from a response or from a stream. */
interface ProviderAnswer {
  readonly status: number | undefined;
  /** The provider's text, in lower case. */
  readonly text: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
}

const networkTimeouts = new Set([
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);
const networkFailures = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_SOCKET",
  "UND_ERR_CLOSED",
]);
/** Messages of `fetch` when a connection breaks before the response is complete. */
const brokenConnection = /^(?:terminated|fetch failed|network error|other side closed)$/i;

/**
 * Returns the user-facing code and message for a failed model call. The message contains no secret, address or stack. Accepts
 * anything that `ModelCatalog.resolve`, the SDK or its providers throw or stream as an error.
 *
 * @param now milliseconds since the Unix epoch, for a `Retry-After` that is a date
 */
export function describeModelFailure(error: unknown, now: number = Date.now()): Failure {
  const last = unwrapRetry(error);
  if (LoadAPIKeyError.isInstance(last) || LoadSettingError.isInstance(last))
    return failure("model_auth", false);
  if (NoSuchModelError.isInstance(last)) return failure("model_not_found", false);
  if (isAnswerless(last)) return failure("model_unavailable", true);
  const answer = readAnswer(last, now);
  if (answer !== null) return describeAnswer(answer);
  return describeBreak(last) ?? failure("model_error", false);
}

type Failure = ModelFailure & { readonly code: ModelFailureCode };

function failure(
  code: ModelFailureCode,
  retryable: boolean,
  retryAfterMs?: number,
  message: string = messages[code],
): Failure {
  return { code, message, retryable, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Unwraps the SDK's retry error, which hides the cause behind a summary. */
export function unwrapRetry(error: unknown): unknown {
  return nameOf(error) === "AI_RetryError" && isObject(error) ? error["lastError"] : error;
}

/** Returns true if the connection ended normally but the answer was empty, truncated or incomplete. */
function isAnswerless(error: unknown): boolean {
  return (
    EmptyResponseBodyError.isInstance(error) ||
    InvalidResponseDataError.isInstance(error) ||
    NoContentGeneratedError.isInstance(error) ||
    nameOf(error) === "AI_NoOutputGeneratedError"
  );
}

function readAnswer(error: unknown, now: number): ProviderAnswer | null {
  if (APICallError.isInstance(error)) {
    // Without an error status, the connection failed.
    if (error.statusCode === undefined || error.statusCode < 400) return null;
    return {
      status: error.statusCode,
      text: `${error.message}\n${error.responseBody ?? ""}`.toLowerCase(),
      retryable: error.isRetryable,
      retryAfterMs: retryAfter(error.responseHeaders, error.responseBody, now),
    };
  }
  // An error event inside a stream: an SDK error, or the provider's raw object.
  if (!isObject(error) || (nameOf(error) !== "AI_StreamProviderError" && error instanceof Error)) return null;
  const status = typeof error["statusCode"] === "number" ? error["statusCode"] : undefined;
  const words = [error["type"], error["code"], error["message"]].filter((word) => typeof word === "string");
  const retryable = error["isRetryable"] === true;
  return { status, text: words.join("\n").toLowerCase(), retryable, retryAfterMs: undefined };
}

function describeAnswer({ status, text, retryable, retryAfterMs }: ProviderAnswer): Failure {
  const isComplaint = status === undefined || (status >= 400 && status < 500);
  if (isComplaint && isContextOverflow(text)) return failure("model_context_overflow", false);
  if (
    isComplaint &&
    /content_policy|content_filter|content management policy|moderation|prohibited_content/.test(text)
  ) {
    return failure("model_refused", false);
  }
  // Google also reports rate limits as exceeded quota, but with a retry delay.
  const isOutOfQuota = /insufficient_quota|exceeded your current quota|credit balance is too low/.test(text);
  if (status === 402 || (isComplaint && isOutOfQuota && retryAfterMs === undefined)) {
    return failure("model_rate_limited", false, undefined, quotaMessage);
  }
  if (status === 401 || status === 403 || (isComplaint && isInvalidKey(text)))
    return failure("model_auth", false);
  if (status === 404 || (isComplaint && /model_not_found|not_found_error/.test(text))) {
    return failure("model_not_found", false);
  }
  if (status === 429 || (isComplaint && /rate_limit/.test(text))) {
    return failure("model_rate_limited", true, retryAfterMs);
  }
  if (status === 408 || status === 504) return failure("model_timeout", true, retryAfterMs);
  // Servers report an error of a chat template with any status.
  if (isTemplateError(text)) return { ...failure("model_error", false), refusesHistory: true };
  if (status === undefined ? /overloaded|server_error|api_error/.test(text) : status >= 500) {
    return failure("model_unavailable", true, retryAfterMs);
  }
  const refusesHistory = (status === 400 || status === 422) && !isAboutRequest(text);
  return { ...failure("model_error", retryable, retryAfterMs), ...(refusesHistory && { refusesHistory }) };
}

/** Returns true for the errors of llama.cpp, LM Studio and vLLM about a conversation that a template refuses. */
function isTemplateError(text: string): boolean {
  return /\bjinja\b|chat template|roles must alternate/.test(text);
}

/** Returns true if the provider refuses the tools or the parameters of a request, whatever the conversation. */
function isAboutRequest(text: string): boolean {
  return /not support (?:tools|tool|functions?)|\btools?(?:\[\d+\]|\.\d+)|invalid schema|input_schema|function_declarations|tool_choice|(?:unsupported|unknown|unrecognized) (?:parameter|argument|field|request argument)|extra inputs|response_format|json_schema|stream_options|parallel_tool_calls|max_(?:completion_|output_)?tokens|temperature/.test(
    text,
  );
}

function isContextOverflow(text: string): boolean {
  return /context_length_exceeded|maximum context length|context window|context size|prompt is too long|input is too long|exceeds the maximum number of tokens|request_too_large/.test(
    text,
  );
}

function isInvalidKey(text: string): boolean {
  return /invalid_api_key|api_key_invalid|api key not valid|incorrect api key|authentication_error|permission_error/.test(
    text,
  );
}

/** Classifies connections that were refused, broke, timed out or were aborted; `null` for other errors. */
function describeBreak(error: unknown): Failure | null {
  const chain = causesOf(error);
  const proxy = chain.find((cause) => cause instanceof ProxyFailure);
  if (proxy !== undefined) {
    const why = proxy.publicReason;
    const message = `The assistant's model was not asked, because ${why}. Try again, or ask the operator to check the proxy.`;
    return failure("model_unavailable", proxy.isRetryable, undefined, message);
  }
  const names = chain.map(nameOf);
  const codes = chain.map(({ code }) => (typeof code === "string" ? code : ""));
  if (names.includes("TimeoutError") || codes.some((code) => networkTimeouts.has(code))) {
    return failure("model_timeout", true);
  }
  if (names.includes("AbortError")) return failure("model_timeout", false);
  const isBroken = chain.some(({ message }) => typeof message === "string" && brokenConnection.test(message));
  if (isBroken || codes.some((code) => networkFailures.has(code))) return failure("model_unavailable", true);
  // No response, for a cause not listed above (a certificate, a proxy, an invalid address).
  const isUnanswered = APICallError.isInstance(error) && error.statusCode === undefined;
  return isUnanswered ? failure("model_unavailable", error.isRetryable) : null;
}

/** Returns the error and its chain of causes, each once even if the chain is circular. */
export function causesOf(error: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> {
  const chain = new Set<Readonly<Record<string, unknown>>>();
  for (let current = error; isObject(current) && !chain.has(current); current = current["cause"])
    chain.add(current);
  return [...chain];
}

export function nameOf(error: unknown): string {
  return isObject(error) && typeof error["name"] === "string" ? error["name"] : "";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isJsonObject(value);
}

/** Headers with lower-case names, as the SDK returns them. */
type Headers = Readonly<Record<string, string | undefined>>;

/**
 * Returns the requested delay in milliseconds, or `undefined` if there is none: `retry-after-ms` (OpenAI), `Retry-After` in seconds
 * or as a date (RFC 9110 section 10.2.3), or Google's `retryDelay` in the body. A date is relative to the response's own `Date`, so
 * that the clocks need not agree.
 *
 * @param now milliseconds since the Unix epoch, used if the response has no `Date`
 */
export function retryAfter(
  headers: Headers | undefined,
  body: string | undefined,
  now: number,
): number | undefined {
  const milliseconds = readNumber(headers?.["retry-after-ms"]);
  if (milliseconds !== undefined) return Math.ceil(milliseconds);
  const value = headers?.["retry-after"];
  const seconds = readNumber(value) ?? readNumber(/"retryDelay"\s*:\s*"([\d.]+)s"/.exec(body ?? "")?.[1]);
  if (seconds !== undefined) return Math.ceil(seconds * 1_000);
  const date = readDate(value);
  return date === undefined ? undefined : Math.max(0, date - (readDate(headers?.["date"]) ?? now));
}

/** Parses an HTTP date. It must start with a weekday: `Date.parse` also accepts "-5". */
function readDate(value: string | undefined): number | undefined {
  const date = /^\s*[a-z]{3,9},? /i.test(value ?? "") ? Date.parse(value ?? "") : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}

/** Parses a non-negative decimal number; `Number` alone would also accept "" and "0x10". */
function readNumber(value: string | undefined): number | undefined {
  const text = value?.trim() ?? "";
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}
