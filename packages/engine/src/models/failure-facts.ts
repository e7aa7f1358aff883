// Facts about failed model calls for operators, for the log and for `colloquy doctor --models`. They contain
// no key and no text of the request.

import { APICallError } from "@ai-sdk/provider";
import { isJsonObject } from "../core/json.ts";
import type { FailureFacts } from "../core/ports/driven/model.ts";
import { AnswerFailure } from "./answer-failure.ts";
import { causesOf, nameOf, unwrapRetry } from "./provider-errors.ts";

const BODY_CHARACTERS = 300;
/**
 * A run of this many characters that also occurs in the request counts as a quotation of the conversation.
 */
const QUOTED_CHARACTERS = 12;
const KEYS = /\b(?:sk|clq|pk|rk|xai|gsk|org|proj)[-_][^\s"'`,;)}\]]{4,}|\bAIza[\w-]{8,}|\bBearer\s+\S+/g;

/** Returns the address, error code, status and shortened body of a failed call, as far as they are known. `secrets` are removed from all of them. */
export function failureFacts(error: unknown, secrets: readonly string[]): FailureFacts {
  const last = unwrapRetry(error);
  if (typeof last !== "object" || last === null) return {};
  const redact = (text: string): string => redactKeys(text, secrets);
  const errno = causesOf(last)
    .map(({ code }) => code)
    .find((code) => typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code));
  const named = {
    ...(nameOf(last) !== "" && { error: nameOf(last) }),
    ...(typeof errno === "string" && { errno }),
  };
  const failed = causesOf(last).find((cause) => cause instanceof AnswerFailure);
  if (failed !== undefined) return { ...named, ...answerFacts(failed, redact) };
  if (!APICallError.isInstance(last)) return { ...named, ...streamedFacts(last) };
  const body = last.statusCode === undefined || last.statusCode < 400 ? "" : (last.responseBody ?? "");
  return {
    ...named,
    address: addressOf(last.url, redact),
    ...(last.statusCode !== undefined && { status: last.statusCode }),
    ...(body !== "" && { body: excerpt(body, requestText(last.requestBodyValues), redact) }),
  };
}

/** Returns the facts about an error in a response with a success status. */
function answerFacts(
  { problem, body, address, request, answered }: AnswerFailure,
  redact: (text: string) => string,
): FailureFacts {
  const quotable = `${requestText(parse(request))}\n${answered.replaceAll(/\s+/g, " ")}`;
  const shown = body === "" ? "" : excerpt(body, quotable, redact);
  return {
    status: 200,
    address: addressOf(address, redact),
    body: [problem, shown].filter((part) => part !== "").join(": "),
  };
}

function addressOf(url: string, redact: (text: string) => string): string {
  const address = URL.parse(url);
  return redact(address === null ? url : `${address.origin}${address.pathname}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Returns the facts about an error event in a stream. Omits its message, which cannot be checked for
 * quotations without the request.
 */
function streamedFacts(error: object): FailureFacts {
  const { statusCode, type, code } = error as Readonly<Record<string, unknown>>;
  const words = [type, code].filter((word) => typeof word === "string" && /^[\w.-]{1,64}$/.test(word));
  return {
    ...(typeof statusCode === "number" && { status: statusCode }),
    ...(words.length > 0 && { body: words.join(", ") }),
  };
}

function excerpt(body: string, request: string, redact: (text: string) => string): string {
  const { message, words } = readBody(body);
  const short = redact(message.replaceAll(/\s+/g, " ").trim()).slice(0, BODY_CHARACTERS);
  const shown = quotes(short, request) ? "[repeats the request]" : short;
  return [shown, ...words.map(redact)].filter((part) => part !== "").join(", ");
}

/**
 * Parses the providers' error formats. Any other body, such as a proxy's error page, is the message as a
 * whole.
 */
function readBody(body: string): { readonly message: string; readonly words: readonly string[] } {
  try {
    const [content] = [JSON.parse(body) as unknown].flat();
    const outer = isJsonObject(content) ? content : {};
    const error = isJsonObject(outer["error"]) ? outer["error"] : outer;
    const [first] = [outer["errors"], outer["detail"]].filter(Array.isArray).flat();
    const nested = isJsonObject(first) ? first : {};
    const message = [
      error["message"],
      outer["error"],
      outer["detail"],
      outer["msg"],
      outer["status_msg"],
      nested["message"],
      nested["msg"],
    ].find((part) => typeof part === "string");
    const words = [
      error["type"],
      error["code"],
      error["status"],
      error["param"],
      error["finish_reason"],
      outer["status_code"],
    ]
      .map((word) => (typeof word === "number" ? String(word) : word))
      .filter((word) => typeof word === "string" && /^[\w.[\]-]{1,64}$/.test(word));
    return { message: typeof message === "string" ? message : "", words: [...new Set(words)] as string[] };
  } catch {
    return {
      message: body.slice(0, 10_000).replaceAll(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/gi, " "),
      words: [],
    };
  }
}

/**
 * Request fields that the operator configures. Error messages may quote them, for example the name of a tool.
 */
const OPERATORS_FIELDS: ReadonlySet<string> = new Set(["model", "tools", "name"]);

/** Returns the conversation's text in a request. */
function requestText(value: unknown): string {
  const texts: string[] = [];
  JSON.stringify(value, (key, part: unknown) => {
    if (OPERATORS_FIELDS.has(key)) return undefined;
    if (typeof part === "string") texts.push(part.replaceAll(/\s+/g, " "));
    return part;
  });
  return texts.join("\n");
}

function quotes(text: string, request: string): boolean {
  if (text.length < QUOTED_CHARACTERS) return text !== "" && request.includes(text);
  for (let start = 0; start + QUOTED_CHARACTERS <= text.length; start += 1) {
    if (request.includes(text.slice(start, start + QUOTED_CHARACTERS))) return true;
  }
  return false;
}

function redactKeys(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= 4);
  return known
    .reduce((shown, secret) => shown.replaceAll(secret, "[redacted]"), text)
    .replaceAll(KEYS, "[redacted]");
}
