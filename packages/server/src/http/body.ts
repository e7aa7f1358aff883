import type { FastifyBodyParser } from "fastify";
import { InvalidRequest } from "../core/errors.ts";
import { parseJsonBytes } from "./json-text.ts";
import { unsupportedMediaType } from "./problem.ts";

/**
 * Reads the body of a request, whatever its type says: an empty one is none, one without a type is tried as JSON, and one that
 * says it is something else is refused (contract section 1, `POST /api/sessions`).
 */
export const parseBody: FastifyBodyParser<Buffer> = (request, bytes, done) => {
  const {
    "content-type": type,
    "content-encoding": encoding = "identity",
    "transfer-encoding": transfer = "chunked",
  } = request.raw.headers;
  // RFC 9112 section 6.1: only the chunks of a body are undone here.
  if (transfer.trim().toLowerCase() !== "chunked") {
    const detail = "Send the body as it is, or with Transfer-Encoding: chunked and no other coding.";
    return done(new InvalidRequest("http_invalid", detail));
  }
  if (bytes.length === 0) return done(null, undefined);
  if ((type !== undefined && !isJsonType(type)) || encoding.toLowerCase() !== "identity") {
    return done(unsupportedMediaType());
  }
  const parsed = parseJsonBytes(bytes);
  return parsed.ok
    ? done(null, parsed.value)
    : done(new InvalidRequest(parsed.code, `The body ${parsed.problem}.`));
};

/** `application/json` and what ends in `+json` (RFC 6839 section 3.1), in UTF-8. */
function isJsonType(type: string): boolean {
  const [essence = "", ...parameters] = type.toLowerCase().split(";");
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.startsWith("charset="));
  return (
    /^application\/(?:[a-z0-9.!#$&^_-]+\+)?json$/.test(essence.trim()) &&
    (charset === undefined || /^charset="?utf-?8"?$/.test(charset))
  );
}
