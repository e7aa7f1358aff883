// Reads requests: target, headers and body. Anything ambiguous is a 400 (contract section 6).

import type { IncomingMessage, ServerResponse } from "node:http";
import { parseSessionId } from "@colloquy/protocol";
import type { FastifyRequest, FastifySchemaCompiler } from "fastify";
import { z } from "zod";
import { InvalidRequest } from "@colloquy/engine/internal/core/errors";
import { invalidParameter } from "@colloquy/engine/internal/core/invalid-parameter";
import { isCleanText, isJsonObject } from "@colloquy/engine/internal/core/json";
import { parseJsonBytes } from "./json-text.ts";
import { unsupportedMediaType } from "./problem.ts";

/** Query parameters by name. A repeated parameter keeps all its values, so that the route can reject it. */
export type Query = Readonly<Record<string, string | readonly string[]>>;

/** Shared by all requests without a query. */
const EMPTY_QUERY: Query = Object.freeze(Object.create(null) as Query);

/**
 * Parses the query of a request target and checks its path.
 * @throws InvalidRequest if an escape is invalid, the text is not clean, or there is a fragment (RFC 9112
 * section 3.2)
 */
export function readTarget(target: string): Query {
  if (target.includes("#")) {
    throw new InvalidRequest("url_encoding_invalid", 'The URL contains a "#". Encode it as %23.');
  }
  const end = target.indexOf("?");
  decode(end === -1 ? target : target.slice(0, end));
  return end === -1 ? EMPTY_QUERY : parseQuery(target.slice(end + 1));
}

/**
 * Parses `application/x-www-form-urlencoded` text (WHATWG URL standard section 5.1). Other parsers keep
 * invalid escapes, take the last of several values, and turn `a[b]` into objects.
 */
function parseQuery(text: string): Query {
  const query = Object.create(null) as Record<string, string | string[]>;
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? "" : decode(pair.slice(equals + 1));
    const before = query[name];
    if (before === undefined) query[name] = value;
    else if (typeof before === "string") query[name] = [before, value];
    else before.push(value);
  }
  return query;
}

function decode(escaped: string): string {
  if (!/[%+]|[^!-~]/.test(escaped)) return escaped;
  if (/[^!-~]/.test(escaped)) {
    throw new InvalidRequest(
      "url_encoding_invalid",
      "The URL contains a character that must be percent-encoded. Encode text as UTF-8 (encodeURIComponent does it; " +
        "with curl: -G --data-urlencode).",
    );
  }
  let text: string;
  try {
    text = decodeURIComponent(escaped.replaceAll("+", " "));
  } catch {
    throw new InvalidRequest(
      "url_encoding_invalid",
      "The URL contains a percent-encoding that is not two hexadecimal digits or not UTF-8. Encode text as UTF-8 " +
        "(encodeURIComponent does it).",
    );
  }
  if (!isCleanText(text)) {
    throw new InvalidRequest("text_invalid", "The URL contains a NUL character (%00). Send text without it.");
  }
  return text;
}

export const SESSION_HEADER = "x-session-id";

/**
 * Returns the session id of `X-Session-Id`, in lower case.
 * @throws InvalidRequest if the header is missing, malformed or was sent twice (contract section 1)
 */
export function requiredSessionId(message: IncomingMessage): string {
  const id = optionalSessionId(message);
  if (id === null) {
    throw new InvalidRequest(
      "session_id_missing",
      "Send the header X-Session-Id with a UUID that you chose for the conversation, for example from crypto.randomUUID().",
    );
  }
  return id;
}

/** Like `requiredSessionId`, but `null` if the header is absent. */
export function optionalSessionId(message: IncomingMessage): string | null {
  const sent = textHeader(message, SESSION_HEADER);
  // Node joins repeated headers with a comma, which no session id contains.
  const id = sent === null ? null : parseSessionId(sent);
  if (id === null && sent !== null) {
    throw new InvalidRequest(
      "session_id_invalid",
      "The header X-Session-Id must be sent once and be a UUID (8-4-4-4-12 hexadecimal digits, not the nil or max UUID).",
    );
  }
  return id;
}

/** Returns the App key as sent, `null` if absent or empty. */
export function appKey(message: IncomingMessage): string | null {
  return textHeader(message, "service-app-key") || null;
}

/**
 * Returns the `Idempotency-Key` of a chat or a claim, `null` if absent.
 * @throws InvalidRequest unless it is 1 to 255 printable ASCII characters, sent once
 */
export function idempotencyKey(message: IncomingMessage): string | null {
  const key = textHeader(message, "idempotency-key");
  if (key === null) return null;
  // A key may contain a comma, so repeated headers are counted before Node joins them.
  if (!/^[\x20-\x7e]{1,255}$/.test(key) || timesSent(message, "idempotency-key") > 1) {
    throw new InvalidRequest(
      "idempotency_key_invalid",
      "The header Idempotency-Key must be sent once and be 1 to 255 printable ASCII characters, for example a UUID.",
    );
  }
  return key;
}

/** Returns a header as text, `null` if absent. */
export function textHeader(message: IncomingMessage, name: string): string | null {
  const sent = message.headers[name];
  if (sent === undefined) return null;
  return typeof sent === "string" ? sent : sent.join(", ");
}

/** Returns how many times a header was sent. Compares lengths first, because it runs for every request. */
export function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index];
    if (sent?.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count;
}

/** Maximum of `Prefer: wait` in seconds (contract section 2). */
const WAIT_MAX_SECONDS = 60;

/** Pattern of `wait=10` or `wait="10"` with its parameters; a name is a token, in any case. */
const PREFERENCE = /^[\t ]*wait[\t ]*=[\t ]*(?:(\d+)|"(\d+)")[\t ]*(?:;.*)?$/i;
const ANY_WAIT = /^[\t ]*wait[\t ]*(?:[=;]|$)/i;
const OUTSIDE_QUOTES = /(?:"(?:[^"\\]|\\.)*"?|[^,"])+/g;

/**
 * Returns the milliseconds of `Prefer: wait=N`, at most 60 s; 0 if absent. The first of several preferences
 * counts, and a malformed one is ignored (RFC 7240 section 2).
 */
export function preferredWait(header: string | null): number {
  const first = header?.match(OUTSIDE_QUOTES)?.find((preference) => ANY_WAIT.test(preference)) ?? "";
  const match = PREFERENCE.exec(first);
  const seconds = Number(match?.[1] ?? match?.[2] ?? 0);
  return Math.min(seconds, WAIT_MAX_SECONDS) * 1000;
}

const NEVER = new AbortController().signal;

/**
 * Returns a signal that aborts when the client of a waiting request disconnects. Without a wait (`waitMs` 0)
 * it never aborts.
 */
export function abortOnDisconnect(response: ServerResponse, waitMs: number): AbortSignal {
  if (waitMs === 0) return NEVER;
  const controller = new AbortController();
  response.once("close", () => controller.abort());
  return controller.signal;
}

/**
 * Parses the request body as JSON (contract section 6). Ignores empty bodies, and any body if the route takes
 * none.
 * @throws ServiceError 415 for other media types, 400 for invalid JSON, and what the route's `parseBody` throws
 */
export function parseBody(request: FastifyRequest, bytes: Buffer): unknown {
  const {
    "content-type": type,
    "content-encoding": encoding = "identity",
    "transfer-encoding": transfer = "chunked",
  } = request.raw.headers;
  // RFC 9112 section 6.1: only chunked coding is supported.
  if (transfer.trim().toLowerCase() !== "chunked") {
    const detail = "Send the body as it is, or with Transfer-Encoding: chunked and no other coding.";
    throw new InvalidRequest("http_invalid", detail);
  }
  const { schema, config } = request.routeOptions;
  if (bytes.length === 0 || schema?.body === undefined) return undefined;
  if (!acceptsType(type, request) || encoding.toLowerCase() !== "identity") throw unsupportedMediaType();
  const parsed = (config.parseBody ?? parseJsonBytes)(bytes, request);
  if (parsed.ok) return parsed.value;
  throw new InvalidRequest(parsed.code, `The body ${parsed.problem}.`);
}

/**
 * Returns true if the route accepts a body of this type. Pages of other origins may send `text/plain` or no
 * type without a preflight, so only routes that require `X-Session-Id`, which forces a preflight, accept
 * them.
 */
function acceptsType(type: string | undefined, request: FastifyRequest): boolean {
  const { mediaTypes } = request.routeOptions.config;
  if (mediaTypes !== undefined) return mediaTypes.includes(essenceOf(type));
  if (type !== undefined && isUtf8Of(/^application\/(?:[a-z0-9.!#$&^_-]+\+)?json$/, type)) return true;
  return (type === undefined || isUtf8Of(/^text\/plain$/, type)) && requiresSessionId(request);
}

function essenceOf(type: string | undefined): string {
  return type?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function requiresSessionId({ routeOptions: { schema } }: FastifyRequest): boolean {
  const fields = schema?.headers instanceof z.ZodObject ? Object.entries(schema.headers.shape) : [];
  const [, header] = fields.find(([name]) => name.toLowerCase() === SESSION_HEADER) ?? [];
  return header instanceof z.ZodType && !header.safeParse(undefined).success;
}

/** Returns true if the media type is one of `essences` in UTF-8 (RFC 6839 section 3.1 defines `+json`). */
function isUtf8Of(essences: RegExp, type: string): boolean {
  const [essence = "", ...parameters] = type.toLowerCase().split(";");
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.startsWith("charset="));
  return essences.test(essence.trim()) && (charset === undefined || /^charset="?utf-?8"?$/.test(charset));
}

const PART_NAMES: Readonly<Record<string, string>> = {
  querystring: "query parameter",
  params: "path parameter",
  body: "body field",
};

type Validated = { readonly value: unknown } | { readonly error: InvalidRequest };

/**
 * Validates the query, path and body of a request. Header schemas only document the API: the functions above read headers.
 */
export const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = "" }) => {
  const part = PART_NAMES[httpPart];
  if (part === undefined) return () => true;
  const validate = (sent: unknown): Validated => {
    const result = schema.safeParse(sent);
    return result.success ? { value: result.data } : { error: invalidParameter(part, sent, result.error) };
  };
  // Most requests have no query, so validate the empty one only once.
  let emptyResult: Validated | null = null;
  return (sent: unknown) => (sent === EMPTY_QUERY ? (emptyResult ??= validate(EMPTY_QUERY)) : validate(sent));
};

/** Response schemas only document the API, so responses are serialized unchanged. */
export function compileSerializer(): (value: unknown) => string {
  return JSON.stringify;
}

// The functions below run before validation.

/** Returns the `app` parameter if it is a string. Validation rejects other values later. */
export function appOfQuery(request: FastifyRequest): string | undefined {
  const named = (request.query as Query)["app"];
  return typeof named === "string" && named !== "" ? named : undefined;
}

/** Returns `app` of a JSON body; `undefined` if the body has not been read. */
export function appOfBody({ body }: FastifyRequest): unknown {
  const named = isJsonObject(body) ? body["app"] : undefined;
  return named === null || named === "" || typeof named === "object" ? undefined : named;
}

export function sessionOfHeader({ raw }: FastifyRequest): string | null {
  const sent = raw.headers[SESSION_HEADER];
  return typeof sent === "string" ? parseSessionId(sent) : null;
}

/** `sessionOf` as in `AppAccess`. */
export function sessionOfPath(
  request: FastifyRequest,
  sessionOf: (id: string) => string | null = (id) => id,
): string | null {
  const { id } = request.params as { readonly id?: unknown };
  const sent = typeof id === "string" ? sessionOf(id) : null;
  return sent === null ? null : parseSessionId(sent);
}
