// Maps errors of providers and their packages to user-facing messages. A provider's own text is used only for
// classification and is never passed on: it may contain keys, addresses, account names and parts of the
// conversation.

import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  NoContentGeneratedError,
  NoSuchModelError,
  TypeValidationError,
} from "@ai-sdk/provider";
import { isJsonObject } from "../core/json.ts";
import type { ModelFailure } from "../core/ports/driven/model.ts";
import { ProxyFailure } from "../core/proxies.ts";
import { AnswerFailure } from "./answer-failure.ts";

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

/** User-facing messages that are more specific than the default of their code. */
const quotaMessage =
  "The server's account at the assistant's model provider has no credit or quota left. Ask the operator to check the account.";
const toolsMessage =
  "The assistant's model does not accept tools. Choose another model, or ask the operator to set `tools` of its provider to false.";
const filesMessage =
  "The assistant's model does not accept a file of this conversation. Choose another model, or send the message without it.";
const choiceMessage =
  "The assistant's model cannot be forced to call a tool while it thinks. Leave the choice to the model, or choose another one.";
const requestMessage =
  "The assistant's model provider refuses a part of every request. Ask the operator to run `colloquy doctor --models`, which names the setting to change.";
const refusedMessage =
  "The assistant's model provider refused the request. Start a new conversation, or ask the operator to look at the log.";
const memoryMessage =
  "The assistant's model does not fit into the memory of its server. Choose another model, or ask the operator.";
const foreignMessage =
  "The address of the assistant's model provider answers, but not as a model. Ask the operator to check its baseURL.";
const unreadableMessage =
  "The assistant's model provider sent an answer that cannot be read. Try again, or ask the operator to look at the log.";
const cutMessage =
  "The connection to the assistant's model provider ended before the answer did. Send your message again.";
const brokenOffMessage = "The assistant's model broke off its answer. Send your message again.";
const emptyMessage = "The assistant's model provider sent an empty answer. Try again.";

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
  const failed = causesOf(last).find((cause) => cause instanceof AnswerFailure);
  if (failed !== undefined) return describeAnswerFailure(failed);
  if (LoadAPIKeyError.isInstance(last) || LoadSettingError.isInstance(last))
    return failure("model_auth", false);
  if (NoSuchModelError.isInstance(last)) return failure("model_not_found", false);
  if (isAnswerless(last)) return failure("model_unavailable", true);
  if (isUnreadable(last)) return failure("model_error", true, undefined, unreadableMessage);
  const answer = readAnswer(last, now);
  if (answer !== null) return describeAnswer(answer);
  return describeBreak(last) ?? failure("model_error", false);
}

/**
 * Describes a failure of a response with a success status. Transient failures are retryable until text has
 * arrived.
 */
function describeAnswerFailure({ problem, body, cause }: AnswerFailure): Failure {
  switch (problem) {
    case "reported":
      return describeAnswer(readReport(body));
    case "unreadable":
      return failure("model_error", true, undefined, unreadableMessage);
    case "foreign":
      return failure("model_error", false, undefined, foreignMessage);
    case "silent":
      return failure("model_timeout", true);
    case "empty":
      return failure("model_unavailable", true, undefined, emptyMessage);
    case "cut":
      return describeBreak(cause) ?? failure("model_unavailable", cause === undefined, undefined, cutMessage);
  }
}

/** Parses an error in a response with a success status. The error may state the actual status. */
function readReport(body: string): ProviderAnswer {
  const status = /"(?:code|status|status_code|statusCode|http_code)"\s*:\s*"?([45]\d\d)\b/.exec(body)?.[1];
  return {
    status: status === undefined ? undefined : Number(status),
    text: body.toLowerCase(),
    retryable: false,
    retryAfterMs: retryAfter(undefined, body, 0),
  };
}

/** Returns true if the package could not read a chunk or an answer. */
function isUnreadable(error: unknown): boolean {
  return causesOf(error).some(
    (cause) => JSONParseError.isInstance(cause) || TypeValidationError.isInstance(cause),
  );
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

/**
 * Classifies an error by its status and text. Only transient conditions are retryable: 408, 409 (a lock, or a
 * model that is loading), 429, and 5xx unless the text states a permanent reason.
 */
function describeAnswer({ status, text, retryable, retryAfterMs }: ProviderAnswer): Failure {
  const isComplaint = status === undefined || (status >= 400 && status < 500);
  if (status === 413 || isContextOverflow(text)) return failure("model_context_overflow", false);
  if (isComplaint && isContentRefusal(text)) return failure("model_refused", false);
  // Google also reports rate limits as exceeded quota, but with a retry delay.
  const isOutOfQuota = isComplaint && retryAfterMs === undefined && isQuota(text);
  if (status === 402 || isOutOfQuota) return failure("model_rate_limited", false, undefined, quotaMessage);
  // Some providers refuse a kind of input with 403.
  const isAboutFiles = refusesFiles(text);
  if (status === 401 || (status === 403 && !isAboutFiles) || (isComplaint && isInvalidKey(text)))
    return failure("model_auth", false);
  if (refusesTools(text)) return failure("model_error", false, undefined, toolsMessage);
  if (isAboutFiles)
    return {
      ...failure("model_error", false, undefined, filesMessage),
      refusesHistory: true,
      refusesFiles: true,
    };
  if (status === 404 || (isComplaint && isUnknownModel(text))) return failure("model_not_found", false);
  if (status === 429 || (isComplaint && isRateLimit(text)))
    return failure("model_rate_limited", true, retryAfterMs);
  if (status === 408 || status === 504) return failure("model_timeout", true, retryAfterMs);
  if (isOutOfMemory(text)) return failure("model_unavailable", false, undefined, memoryMessage);
  if (isBrokenOff(text)) return failure("model_unavailable", true, undefined, brokenOffMessage);
  if (isUnloaded(text)) return failure("model_unavailable", true, retryAfterMs);
  // Servers report chat-template errors with arbitrary statuses.
  if (isTemplateError(text)) {
    return { ...failure("model_error", false, undefined, refusedMessage), refusesHistory: true };
  }
  // The plain form of the conversation omits reasoning, so a retry with it may succeed.
  if (isComplaint && text.includes("reasoning_content"))
    return { ...failure("model_error", false, undefined, requestMessage), refusesHistory: true };
  if (isComplaint && refusesForcedCall(text)) return failure("model_error", false, undefined, choiceMessage);
  if (isAboutRequest(text) && (isComplaint || status === 501))
    return failure("model_error", false, undefined, requestMessage);
  if (status === undefined ? isOverload(text) : status >= 500 && status !== 501) {
    return failure("model_unavailable", true, retryAfterMs);
  }
  if (status === 400 || status === 422) {
    return { ...failure("model_error", false, undefined, refusedMessage), refusesHistory: true };
  }
  return failure("model_error", retryable && status === 409, retryAfterMs, refusedMessage);
}

/**
 * Returns true for errors of llama.cpp, LM Studio and vLLM about a conversation that the chat template
 * rejects.
 */
function isTemplateError(text: string): boolean {
  return /\bjinja\b|chat template|roles must alternate|failed to parse tool call arguments/.test(text);
}

/** Returns true if a local server cannot load the model. */
function isOutOfMemory(text: string): boolean {
  return /requires more (?:system |gpu )?memory|insufficient system resources/.test(text);
}

/** Returns true if the model or its server does not support tools. */
function refusesTools(text: string): boolean {
  return /not support (?:tools?\b|function|tool[ _-]?(?:use|call))|tools? (?:use |calling )?(?:is|are) not supported|no endpoints found that support tool use|requires? --(?:jinja|enable-auto-tool-choice)|function calling is not (?:enabled|supported)|tools? param requires/.test(
    text,
  );
}

/** Returns true if the model thinks, and must then be free to call no tool. */
function refusesForcedCall(text: string): boolean {
  return /tool_choice/.test(text) && /\bthinking\b|forces tool use/.test(text);
}

/** Returns true if the model or its server does not take a file, such as an image. */
function refusesFiles(text: string): boolean {
  return /(?:image|audio|file|pdf|document|vision|multi-?modal|media)(?:s|_url)?[^.\n]{0,60}(?:not (?:be )?(?:support|allow|enabl|accept)|unsupported|exceeds?\b|too (?:large|big|many)|could not|(?:not |in)valid|password)|(?:not support|unsupported|not a|invalid|no endpoints found that support|unknown variant|at most \d+|(?:can ?not|could not|unable to|failed to) (?:decode|download|fetch|identify|load|open|parse|process|read))[^.\n]{0,60}(?:image|audio|file part|pdf|vision|multi-?modal|media type)|\bmmproj\b|content must be a string/.test(
    text,
  );
}

/**
 * Returns true if the provider rejects the tools or parameters of a request, independently of the
 * conversation.
 */
function isAboutRequest(text: string): boolean {
  return /\btools?(?:\[\d+\]|\.\d+)|invalid schema|input_schema|function_declarations|tool_choice|unsupportedparams|not support parameters|(?:unsupported|unknown|unrecognized|unexpected) (?:parameter|argument|field|keyword|request argument)|extra inputs|extra_forbidden|response_format|response format|json_schema|json mode|stream_options|parallel_tool_calls|max_(?:completion_|output_)?tokens|temperature/.test(
    text,
  );
}

function isContextOverflow(text: string): boolean {
  return /context_length_exceeded|context length|context window|context size|context_window|prompt is too long|input is too long|exceeds the maximum number of tokens|request_too_large|request too large|exceed_context_size|maximum prompt length|reduce the length of|`inputs` tokens \+|n_ctx|model token limit|tokens in request more than|max_tokens must be at least 1, got -|prompt exceeds max length|message size .{0,40}exceed|too many tokens(?! per |, please wait| processed)|input length .{0,40}exceed/.test(
    text,
  );
}

function isContentRefusal(text: string): boolean {
  return /content_policy|content[_ ]filter|content management policy|usage (?:policy|policies|guidelines)|invalid_prompt|moderation|prohibited_content|data_inspection_failed|content exists risk|input_sensitive|output_sensitive|敏感内容|responsibleaipolicy/.test(
    text,
  );
}

function isQuota(text: string): boolean {
  return /insufficient_quota|exceeded your current quota|quota exceeded|quota_exceeded|out of quota|credit balance is too low|insufficient balance|insufficient credits|insufficient_balance|billing_hard_limit|spending limit|arrearage|used all available credits|usage limits?\b|usage (?:is|credits are) required|key limit exceeded|余额不足|使用上限/.test(
    text,
  );
}

function isUnknownModel(text: string): boolean {
  return /model_not_found|not_found_error|model_not_exist|model not found|model (?:does )?not exist|invalid model|is not a valid model|no such model|unknown model|decommissioned|model identifier is invalid|on-demand throughput|location is not supported|模型不存在|does not exist or you do not have access/.test(
    text,
  );
}

function isRateLimit(text: string): boolean {
  return /rate_limit|rate limit|ratelimit|too many requests|tokens per minute/.test(text);
}

/** Returns true if a local server has unloaded the model. LM Studio reports that with status 400. */
function isUnloaded(text: string): boolean {
  return /model (?:is )?unloaded|model has crashed|failed to load model/.test(text);
}

/** Returns true if the model aborted its answer, for example because its call was malformed. */
function isBrokenOff(text: string): boolean {
  if (/tool_use_failed|failed_generation/.test(text)) return true;
  return text.startsWith('{"finish_reason"') && !text.includes("insufficient_system_resource");
}

/** Returns true for a transient error without a status. */
function isOverload(text: string): boolean {
  return /"finish_reason"|overloaded|server_error|server error|api_error|internal error|\binternal\b|unavailable|busy|capacity|timed? ?out|upstream|provider returned error|try again/.test(
    text,
  );
}

function isInvalidKey(text: string): boolean {
  return /invalid_api_key|api_key_invalid|api key not valid|incorrect api key|invalid api key|authentication_error|authenticationerror|permission_error|unauthorized|login fail|no auth credentials/.test(
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
 * or as a date (RFC 9110 section 10.2.3), Google's `retryDelay`, or a delay in the text of the body. A date is relative to the
 * response's own `Date`, so that the clocks need not agree.
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
  if (date !== undefined) return Math.max(0, date - (readDate(headers?.["date"]) ?? now));
  return readDuration(body ?? "");
}

const UNITS: Readonly<Record<string, number>> = { milli: 1, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Parses the delay in messages of OpenAI and Groq: "try again in 1m0.36s". Gateways forward the text but not
 * the header.
 */
function readDuration(text: string): number | undefined {
  const said = /\b(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)? ?(?:milli|[hms])[a-z]*,? ?)+)/i.exec(
    text,
  )?.[1];
  if (said === undefined) return undefined;
  const parts = said.toLowerCase().matchAll(/(\d+(?:\.\d+)?) ?(milli|ms|[hms])/g);
  return Math.ceil(
    [...parts].reduce((sum, [, amount, unit = "s"]) => sum + Number(amount) * (UNITS[unit] ?? 0), 0),
  );
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
