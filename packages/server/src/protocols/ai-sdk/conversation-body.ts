// Parses bodies of `useChat`, which holds the whole conversation. Only the last message is built: the
// session has the others.

import { isUtf8 } from "node:buffer";
import { ServiceError } from "../../core/errors.ts";
import { JSON_MAX_DEPTH, parseJsonBytes, type ParsedJson } from "../../http/json-text.ts";

/** Maximum bytes of a body without the earlier messages. */
export const KEPT_MAX_BYTES = 1024 * 1024;

const MESSAGES = Buffer.from('"messages"');
const [TAB, LINE_FEED, RETURN, SPACE, QUOTE, COMMA, COLON, BACKSLASH] = [
  0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x3a, 0x5c,
];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Parses a body without its earlier messages, as strictly as any body. Of those messages, checks that they
 * are UTF-8, that strings and brackets are closed, that they nest at most 32 deep, and that none is empty.
 * @throws ServiceError 413 if the rest is too long
 */
export function parseConversation(bytes: Buffer): ParsedJson {
  if (!isUtf8(bytes)) return { ok: false, code: "text_invalid", problem: "must be encoded as UTF-8" };
  const found = findEarlierMessages(bytes);
  if (found === "too deep") {
    const problem = `must not nest deeper than ${JSON_MAX_DEPTH} levels`;
    return { ok: false, code: "json_too_deep", problem };
  }
  if (found === "malformed") return { ok: false, code: "json_invalid", problem: "must be valid JSON" };
  const { start, end } = found;
  const kept = bytes.length - (end - start);
  if (kept > KEPT_MAX_BYTES) throw keptTooLarge(kept);
  return parseJsonBytes(Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]));
}

/** A range of bytes. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the range of all elements but the last of the array `messages` of the outermost object, with their
 * commas; empty if there are none. Reads each byte once. Ignores a name `messages` that is written with
 * escapes: its messages are not left out. Of repeated names only the first counts: parsing refuses the others.
 */
function findEarlierMessages(bytes: Buffer): Range | "malformed" | "too deep" {
  /** The bracket that closes each open level. */
  const closing = new Uint8Array(JSON_MAX_DEPTH);
  let depth = 0;
  let range: { start: number; end: number } | null = null;
  let isInMessages = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const start = at;
      for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1;
      if (at >= bytes.length) return "malformed";
      if (depth !== 1 || range !== null || !isMessages(bytes, start, at + 1)) continue;
      const array = startOfArray(bytes, at + 1);
      if (array !== null) range = { start: array + 1, end: array + 1 };
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth === JSON_MAX_DEPTH) return "too deep";
      closing[depth] = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
      depth += 1;
      if (range !== null && at === range.start - 1) isInMessages = true;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (depth === 0 || closing[depth - 1] !== byte) return "malformed";
      depth -= 1;
      if (depth !== 1 || !isInMessages || range === null) continue;
      isInMessages = false;
      if (range.end > range.start && isBlank(bytes, range.end, at)) return "malformed";
    } else if (byte === COMMA && isInMessages && depth === 2 && range !== null) {
      if (isBlank(bytes, range.end, at)) return "malformed";
      range.end = at + 1;
    }
  }
  return depth === 0 ? (range ?? { start: 0, end: 0 }) : "malformed";
}

function isMessages(bytes: Buffer, start: number, end: number): boolean {
  return end - start === MESSAGES.length && bytes.compare(MESSAGES, 0, MESSAGES.length, start, end) === 0;
}

/** Returns the index of the `[` after the name that ends before `at`; `null` if its value is no array. */
function startOfArray(bytes: Buffer, at: number): number | null {
  const colon = afterSpace(bytes, at);
  if (bytes[colon] !== COLON) return null;
  const value = afterSpace(bytes, colon + 1);
  return bytes[value] === OPEN_ARRAY ? value : null;
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  return afterSpace(bytes, start) === end;
}

function afterSpace(bytes: Buffer, start: number): number {
  let at = start;
  for (let byte = bytes[at]; isSpace(byte); byte = bytes[at]) at += 1;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB;
}

function keptTooLarge(bytes: number): ServiceError {
  const detail =
    `The last message and the fields beside "messages" have ${bytes} bytes. Send at most ${KEPT_MAX_BYTES}; ` +
    "the earlier messages do not count.";
  return new ServiceError(413, "body_too_large", detail);
}
