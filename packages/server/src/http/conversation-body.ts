// Parses request bodies that contain a whole conversation. Parses only the last messages, because the session
// has stored the earlier ones.

import { isUtf8 } from "node:buffer";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import type { JsonValue } from "@colloquy/engine/internal/core/json";
import { fileLength } from "./sent-files.ts";
import { JSON_MAX_DEPTH, type ParsedJson, parseJsonBytes } from "./json-text.ts";

/** Maximum bytes of a body, excluding earlier messages and file data. */
export const KEPT_MAX_BYTES = 1024 * 1024;
/** Maximum bytes of base64-encoded file data. */
const FILES_MAX_BYTES = 16 * 1024 * 1024;

/** Maximum number of messages to parse. */
const KEPT_MAX_MESSAGES = 64;
const MESSAGES = Buffer.from('"messages"');
const [TAB, LINE_FEED, RETURN, SPACE, QUOTE, COMMA, COLON, BACKSLASH] = [
  0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x3a, 0x5c,
];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Parses a body as strictly as any other, but omits earlier messages. Keeps the last message and, if it is a
 * tool result, up to 63 tool results directly before it. Earlier messages must be valid UTF-8 with balanced
 * strings and brackets, a nesting depth of at most 32 and no empty elements; nothing else is checked.
 * @param answersCall returns true for a message that is a tool result; by default, always returns false
 * @throws ServiceError 413 if the parsed part exceeds `KEPT_MAX_BYTES`, excluding file data
 */
export function parseConversation(
  bytes: Buffer,
  answersCall: (message: JsonValue) => boolean = () => false,
): ParsedJson {
  if (!isUtf8(bytes)) return { ok: false, code: "text_invalid", problem: "must be encoded as UTF-8" };
  const found = findMessages(bytes);
  if (found === "too deep") {
    const problem = `must not nest deeper than ${JSON_MAX_DEPTH} levels`;
    return { ok: false, code: "json_too_deep", problem };
  }
  if (found === "malformed") return { ok: false, code: "json_invalid", problem: "must be valid JSON" };
  const first = found.starts[0] ?? 0;
  const start = startOfKept(bytes, found, answersCall);
  const kept = bytes.length - (start - first);
  if (kept > KEPT_MAX_BYTES + FILES_MAX_BYTES) throw keptTooLarge(kept);
  const parsed = parseJsonBytes(Buffer.concat([bytes.subarray(0, first), bytes.subarray(start)]));
  if (kept <= KEPT_MAX_BYTES) return parsed;
  const rest = parsed.ok ? kept - fileLength(parsed.value) : kept;
  if (rest > KEPT_MAX_BYTES) throw keptTooLarge(rest);
  return parsed;
}

/** Byte offsets of the messages in the body. */
interface Found {
  /** Offsets of the first message and of at least the last 64, in order; empty if there are none. */
  readonly starts: readonly number[];
  /** End of the last message. */
  readonly end: number;
}

/** Returns the start of the first message that is kept. */
function startOfKept(
  bytes: Buffer,
  { starts, end }: Found,
  answersCall: (message: JsonValue) => boolean,
): number {
  let kept = starts.at(-1) ?? 0;
  let until = end;
  for (const start of starts.slice(-KEPT_MAX_MESSAGES).toReversed()) {
    const parsed = parseJsonBytes(bytes.subarray(start, until));
    if (!parsed.ok || !answersCall(parsed.value)) break;
    kept = start;
    // Exclude the comma.
    until = start - 1;
  }
  return kept;
}

/**
 * Finds the elements of the top-level array `messages` in one pass. Does not recognize an escaped spelling of
 * the name: all messages are then parsed. Uses the first of duplicate names, which the parser rejects later.
 */
function findMessages(bytes: Buffer): Found | "malformed" | "too deep" {
  /** Expected closing bracket of each open level. */
  const closing = new Uint8Array(JSON_MAX_DEPTH);
  let depth = 0;
  let found: { starts: number[]; end: number } | null = null;
  let isInMessages = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const start = at;
      for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1;
      if (at >= bytes.length) return "malformed";
      if (depth !== 1 || found !== null || !isMessages(bytes, start, at + 1)) continue;
      const array = startOfArray(bytes, at + 1);
      if (array !== null) found = { starts: [array + 1], end: array + 1 };
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth === JSON_MAX_DEPTH) return "too deep";
      closing[depth] = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
      depth += 1;
      if (found !== null && at === (found.starts[0] ?? 0) - 1) isInMessages = true;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (depth === 0 || closing[depth - 1] !== byte) return "malformed";
      depth -= 1;
      if (depth !== 1 || !isInMessages || found === null) continue;
      isInMessages = false;
      found.end = at;
      if (found.starts.length > 1 && isBlank(bytes, found.starts.at(-1) ?? 0, at)) return "malformed";
    } else if (byte === COMMA && isInMessages && depth === 2 && found !== null) {
      const { starts } = found;
      if (isBlank(bytes, starts.at(-1) ?? 0, at)) return "malformed";
      starts.push(at + 1);
      if (starts.length > 2 * KEPT_MAX_MESSAGES) starts.splice(1, KEPT_MAX_MESSAGES);
    }
  }
  return depth === 0 ? (found ?? { starts: [], end: 0 }) : "malformed";
}

function isMessages(bytes: Buffer, start: number, end: number): boolean {
  return end - start === MESSAGES.length && bytes.compare(MESSAGES, 0, MESSAGES.length, start, end) === 0;
}

/** Returns the index of the `[` after a name that ends before `at`; `null` if the value is not an array. */
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
    `The last message and the fields other than "messages" have ${bytes} bytes. Send at most ${KEPT_MAX_BYTES}; ` +
    "earlier messages and file data do not count.";
  return new ServiceError(413, "body_too_large", detail);
}
