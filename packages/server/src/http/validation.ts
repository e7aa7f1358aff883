// One schema validates and documents. Turns its first problem into a sentence that names the parameter and the valid values.

import type { FastifySchemaCompiler, FastifyBodyParser, FastifyRequest } from "fastify";
import { z } from "zod";
import { InvalidRequest } from "../core/errors.ts";
import { EMPTY_QUERY } from "./query.ts";
import { SESSION_HEADER } from "./headers.ts";
import { parseJsonBytes } from "./json-text.ts";
import { unsupportedMediaType } from "./problem.ts";

const PLACES: Readonly<Record<string, string>> = {
  querystring: "query parameter",
  params: "path parameter",
  body: "body field",
};

/**
 * Validates the query, path and body of a request. `headers.ts` reads headers; their schemas only document.
 */
export const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = "" }) => {
  const place = PLACES[httpPart];
  if (place === undefined) return () => true;
  const validate = (sent: unknown): Validated => {
    const result = schema.safeParse(sent);
    return result.success ? { value: result.data } : { error: refusal(place, sent, result.error) };
  };
  // Most requests have no query: validate the empty one once.
  let ofNone: Validated | null = null;
  return (sent: unknown) => (sent === EMPTY_QUERY ? (ofNone ??= validate(EMPTY_QUERY)) : validate(sent));
};

type Validated = { readonly value: unknown } | { readonly error: InvalidRequest };

/** Response schemas only document; answers are not changed. */
export function compileSerializer(): (value: unknown) => string {
  return JSON.stringify;
}

function refusal(place: string, sent: unknown, error: z.ZodError): InvalidRequest {
  const [issue] = error.issues;
  const [name] = issue?.path ?? [];
  if (issue === undefined || name === undefined) {
    return new InvalidRequest(
      "body_invalid",
      "The body must be a JSON object, with Content-Type: application/json.",
    );
  }
  const value = (sent as Readonly<Record<PropertyKey, unknown>>)[name];
  const subject = `The ${place} "${String(name)}"`;
  if (value === undefined) {
    return new InvalidRequest("parameter_missing", `${subject} is missing: it ${expectation(issue)}.`);
  }
  if (Array.isArray(value) && place === "query parameter") {
    return new InvalidRequest("parameter_repeated", `${subject} was sent more than once. Send it once.`);
  }
  return new InvalidRequest("parameter_invalid", `${subject} ${expectation(issue)}.`);
}

/** Schemas phrase their messages as "must …"; zod's own are the fallback. */
function expectation(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith("must ")) return issue.message;
  return issue.code === "invalid_type" ? `must be a ${issue.expected}` : `is not right: ${issue.message}`;
}

/**
 * Parses the request body as JSON (contract section 6). Empty bodies, and bodies of routes without one, are ignored; other media
 * types are refused.
 */
export const parseBody: FastifyBodyParser<Buffer> = (request, bytes, done) => {
  const {
    "content-type": type,
    "content-encoding": encoding = "identity",
    "transfer-encoding": transfer = "chunked",
  } = request.raw.headers;
  // RFC 9112 section 6.1: only chunked coding is supported.
  if (transfer.trim().toLowerCase() !== "chunked") {
    const detail = "Send the body as it is, or with Transfer-Encoding: chunked and no other coding.";
    return done(new InvalidRequest("http_invalid", detail));
  }
  if (bytes.length === 0 || request.routeOptions.schema?.body === undefined) return done(null, undefined);
  if (!isTaken(type, request) || encoding.toLowerCase() !== "identity") return done(unsupportedMediaType());
  const parsed = parseJsonBytes(bytes);
  return parsed.ok
    ? done(null, parsed.value)
    : done(new InvalidRequest(parsed.code, `The body ${parsed.problem}.`));
};

/**
 * Returns true if the route takes a body of this type. Pages of other origins may send `text/plain` or no type without a preflight,
 * so only routes that require `X-Session-Id`, which forces one, take these.
 */
function isTaken(type: string | undefined, request: FastifyRequest): boolean {
  if (type !== undefined && isUtf8Of(/^application\/(?:[a-z0-9.!#$&^_-]+\+)?json$/, type)) return true;
  return (type === undefined || isUtf8Of(/^text\/plain$/, type)) && requiresSessionId(request);
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
