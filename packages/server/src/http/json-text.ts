import { isUtf8 } from "node:buffer";
import { isJsonObject, type JsonValue } from "../core/json.ts";
import { findRepeatedNames } from "../core/repeated-names.ts";
import { isCleanText } from "../core/text.ts";

/** Nesting of arrays and objects that a client may send (contract section 6). */
export const JSON_MAX_DEPTH = 32;

/** A double holds all whole numbers of up to 15 digits. */
const LONG_NUMBER = /\d{16}/;
/** Texts, which are passed over, and whole numbers. */
const WHOLE_NUMBER = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])(-?\d{16,400})(?![\d.eE])/g;

export type ParsedJson =
  | { readonly ok: true; readonly value: JsonValue }
  | {
      readonly ok: false;
      readonly code: "json_invalid" | "json_too_deep" | "text_invalid";
      /** What is wrong, to stand after the name of what was read. */
      readonly problem: string;
    };

/**
 * Reads JSON (RFC 8259) and refuses what could not be stored or answered as it came: nesting beyond 32, NUL and lone
 * surrogates (escaped ones and those in keys too), numbers beyond the range of a double, whole numbers of more digits than one
 * holds (RFC 8259 section 6), and several values of one name (section 4).
 */
export function parseJson(text: string): ParsedJson {
  if (nestsDeeperThan(text, JSON_MAX_DEPTH)) {
    return refused("json_too_deep", `must not nest deeper than ${JSON_MAX_DEPTH} levels`);
  }
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return refused("json_invalid", "must be valid JSON");
  }
  return refusedContent(value) ?? refusedText(text) ?? { ok: true, value };
}

/** As `parseJson`, of bytes, which must be UTF-8. A byte order mark is ignored (RFC 8259 section 8.1). */
export function parseJsonBytes(bytes: Buffer): ParsedJson {
  if (!isUtf8(bytes)) return refused("text_invalid", "must be encoded as UTF-8");
  const text = bytes.toString("utf8");
  return parseJson(text.startsWith("\uFEFF") ? text.slice(1) : text);
}

/** Reads no further than the text, so that no nesting, however deep, can exhaust the stack. */
function nestsDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (inString) {
      if (character === 0x5c) index += 1;
      else if (character === 0x22) inString = false;
    } else if (character === 0x22) inString = true;
    else if (character === 0x5b || character === 0x7b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (character === 0x5d || character === 0x7d) depth -= 1;
  }
  return false;
}

function refusedContent(value: JsonValue): ParsedJson | null {
  if (typeof value === "string") {
    return isCleanText(value) ? null : refused("text_invalid", "must not hold NUL or a lone surrogate");
  }
  if (typeof value === "number") {
    return Number.isFinite(value) ? null : refused("json_invalid", "must not hold a number beyond 1.8e308");
  }
  if (Array.isArray(value)) return firstRefused(value);
  if (!isJsonObject(value)) return null;
  return firstRefused(Object.keys(value)) ?? firstRefused(Object.values(value));
}

function firstRefused(values: readonly JsonValue[]): ParsedJson | null {
  for (const value of values) {
    const found = refusedContent(value);
    if (found !== null) return found;
  }
  return null;
}

/** What is lost without a word when JSON is read. */
function refusedText(text: string): ParsedJson | null {
  const [repeated] = text.includes(":") ? findRepeatedNames(text) : [];
  if (repeated !== undefined) {
    return refused(
      "json_invalid",
      `must not hold ${JSON.stringify(repeated.path.at(-1))} twice in one object`,
    );
  }
  const rounded = LONG_NUMBER.test(text) ? roundedNumber(text) : null;
  if (rounded === null) return null;
  return refused(
    "json_invalid",
    `must not hold the number ${rounded}, which would be rounded: send it as text`,
  );
}

/** The first whole number that would not be answered as it came, `null` where there is none. */
function roundedNumber(text: string): string | null {
  for (const [, digits] of text.matchAll(WHOLE_NUMBER)) {
    if (digits === undefined) continue;
    const read = String(Number(digits));
    // From 1e21 on it is answered with an exponent, which is exact only where the double is.
    const stays = read.includes("e") ? BigInt(digits) === BigInt(Number(digits)) : read === digits;
    if (!stays) return digits;
  }
  return null;
}

function refused(code: "json_invalid" | "json_too_deep" | "text_invalid", problem: string): ParsedJson {
  return { ok: false, code, problem };
}
