// A strict parser of query strings. Others keep broken escapes, take the last of several values, and turn `a[b]` into objects;
// here an ambiguous query is a 400 (contract section 6).

import { isCleanText } from "../core/text.ts";
import { InvalidRequest } from "../core/errors.ts";

/** Values by name. A repeated name has all its values, so that its reader can refuse. */
export type Query = Readonly<Record<string, string | readonly string[]>>;

/** Shared by all requests without a query. */
export const EMPTY_QUERY: Query = Object.freeze(Object.create(null) as Query);

/**
 * Parses the query of a request target and checks its path.
 * @throws InvalidRequest when an escape is broken, the text is not clean, or there is a fragment (RFC 9112 section 3.2)
 */
export function readTarget(target: string): Query {
  if (target.includes("#")) {
    throw new InvalidRequest("url_encoding_invalid", 'The URL holds a "#". Encode it as %23.');
  }
  const end = target.indexOf("?");
  if (end === -1) {
    decode(target);
    return EMPTY_QUERY;
  }
  decode(target.slice(0, end));
  return parseQuery(target.slice(end + 1));
}

/** Parses `application/x-www-form-urlencoded` text (WHATWG URL standard section 5.1) without repairing anything. */
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
      "The URL holds a character that must be percent-encoded. Encode text as UTF-8 (encodeURIComponent does it; " +
        "with curl: -G --data-urlencode).",
    );
  }
  let text: string;
  try {
    text = decodeURIComponent(escaped.replaceAll("+", " "));
  } catch {
    throw new InvalidRequest(
      "url_encoding_invalid",
      "The URL holds a percent-encoding that is not two hexadecimal digits or not UTF-8. Encode text as UTF-8 " +
        "(encodeURIComponent does it).",
    );
  }
  if (!isCleanText(text)) {
    throw new InvalidRequest("text_invalid", "The URL holds a NUL character (%00). Send text without it.");
  }
  return text;
}
