import { isUtf8 } from "node:buffer";
import type { JsonValue } from "../core/json.ts";
import { endOfText, findRepeatedNames } from "../core/repeated-names.ts";

/** Maximum nesting of a client's JSON (contract section 6). */
export const JSON_MAX_DEPTH = 32;

/** Numbers that may not be kept as they came: long ones, and those with an exponent. */
const SUSPECT_NUMBER = /\d{16}|\d[eE]/;
const [QUOTE, BACKSLASH, MINUS, LETTER_U] = [0x22, 0x5c, 0x2d, 0x75];

export type ParsedJson =
  | { readonly ok: true; readonly value: JsonValue }
  | {
      readonly ok: false;
      readonly code: "json_invalid" | "json_too_deep" | "text_invalid";
      /** The problem, phrased to follow the name of the text. */
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
  return refusedText(text) ?? { ok: true, value };
}

/** Like `parseJson` for UTF-8 bytes. A byte order mark is ignored (RFC 8259 section 8.1). */
export function parseJsonBytes(bytes: Buffer): ParsedJson {
  if (!isUtf8(bytes)) return refused("text_invalid", "must be encoded as UTF-8");
  const text = bytes.toString("utf8");
  return parseJson(text.startsWith("\uFEFF") ? text.slice(1) : text);
}

/** Reads no further than the text, so that no nesting, however deep, can exhaust the stack. */
function nestsDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === QUOTE) index = endOfText(text, index);
    else if (character === 0x5b || character === 0x7b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (character === 0x5d || character === 0x7d) depth -= 1;
  }
  return false;
}

/** What is lost or let through without a word when JSON is read. Looks at the text, which costs less than what it becomes. */
function refusedText(text: string): ParsedJson | null {
  if (!text.isWellFormed() || (text.includes("\\u") && !hasCleanEscapes(text))) {
    return refused("text_invalid", "must not hold NUL or a lone surrogate");
  }
  const number = SUSPECT_NUMBER.test(text) ? problemWithNumbers(text) : null;
  if (number !== null) return refused("json_invalid", number);
  const [repeated] = text.includes(":") ? findRepeatedNames(text, 1) : [];
  if (repeated === undefined) return null;
  return refused("json_invalid", `must not hold ${JSON.stringify(repeated.path.at(-1))} twice in one object`);
}

/** Whether no escape is NUL or half of a pair of surrogates. Sound JSON has backslashes in texts alone. */
function hasCleanEscapes(text: string): boolean {
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at)) {
    const unit = escapedUnit(text, at);
    at += unit === null ? 2 : 6;
    if (unit === 0) return false;
    if (unit === null || unit < 0xd800 || unit > 0xdfff) continue;
    const low = unit < 0xdc00 ? escapedUnit(text, at) : null;
    if (low === null || low < 0xdc00 || low > 0xdfff) return false;
    at += 6;
  }
  return true;
}

/** The UTF-16 unit that is escaped by its number at this place, `null` where none is. */
function escapedUnit(text: string, at: number): number | null {
  if (text.charCodeAt(at) !== BACKSLASH || text.charCodeAt(at + 1) !== LETTER_U) return null;
  let unit = 0;
  for (let index = at + 2; index < at + 6; index += 1) {
    const digit = text.charCodeAt(index);
    // A letter of either case has 9 less in its last four bits than it stands for.
    unit = unit * 16 + (digit & 15) + (digit > 0x39 ? 9 : 0);
  }
  return unit;
}

/** Why the first number that would not be kept is refused; `null` where there is none. */
function problemWithNumbers(text: string): string | null {
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === QUOTE) index = endOfText(text, index);
    else if (character === MINUS || isDigit(character)) {
      let end = character === MINUS ? index + 1 : index;
      let value = 0;
      for (; isDigit(text.charCodeAt(end)); end += 1) value = value * 10 + text.charCodeAt(end) - 0x30;
      const isWhole = !isInNumber(text.charCodeAt(end));
      while (isInNumber(text.charCodeAt(end))) end += 1;
      // Most numbers are known to be kept without making one of their text.
      if (!isWhole || value > Number.MAX_SAFE_INTEGER) {
        const problem = problemWithNumber(text.slice(index, end));
        if (problem !== null) return problem;
      }
      index = end - 1;
    }
  }
  return null;
}

function problemWithNumber(digits: string): string | null {
  const value = Number(digits);
  if (!Number.isFinite(value)) return "must not hold a number beyond 1.8e308";
  if (digits.length < 16 || Number.isSafeInteger(value) || !/^-?\d+$/.test(digits)) return null;
  const read = String(value);
  // From 1e21 on it is answered with an exponent, which is exact only where the double is.
  const stays = read.includes("e") ? BigInt(digits) === BigInt(value) : read === digits;
  return stays ? null : `must not hold the number ${digits}, which would be rounded: send it as text`;
}

function isDigit(character: number): boolean {
  return character >= 0x30 && character <= 0x39;
}

/** Digits, signs, the point, and the letter of an exponent. */
function isInNumber(character: number): boolean {
  return (
    isDigit(character) ||
    character === 0x2b ||
    character === MINUS ||
    character === 0x2e ||
    character === 0x65 ||
    character === 0x45
  );
}

function refused(code: "json_invalid" | "json_too_deep" | "text_invalid", problem: string): ParsedJson {
  return { ok: false, code, problem };
}
