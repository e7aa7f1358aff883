import { isUtf8 } from "node:buffer";
import type { JsonValue } from "@colloquy/engine/internal/core/json";
import { scanJson } from "@colloquy/engine/internal/core/json-scan";

/** Maximum nesting of a client's JSON (contract section 6). */
export const JSON_MAX_DEPTH = 32;
/** Maximum number of values in a client's JSON; arrays and objects count twice. Bounds what parsing costs and takes. */
export const JSON_MAX_VALUES = 50_000;

/** Maximum quoted characters of a name or number, which the client chose. */
const MAX_QUOTED = 100;

/** An escaped NUL or half of a surrogate pair. Faster than checking each escape. */
const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i;
const [BACKSLASH, LETTER_U] = [0x5c, 0x75];

/** A parsed body. */
export type ParsedBody = Parsed<unknown>;
export type ParsedJson = Parsed<JsonValue>;

type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false;
      readonly code: "json_invalid" | "json_too_deep" | "text_invalid";
      /** The problem, phrased to follow the name of the text. */
      readonly problem: string;
    };

/**
 * Parses JSON (RFC 8259). Refuses values that could not be stored or returned unchanged: nesting beyond 32, more than 50,000 values,
 * NUL and lone surrogates (also escaped, also in keys), numbers beyond the range of a double, integers with
 * more digits than a double holds (section 6), and repeated names in an object (section 4).
 */
export function parseJson(text: string): ParsedJson {
  return text.isWellFormed() ? parse(text) : refusedText();
}

/** Like `parseJson`, of bytes, which must be UTF-8. Ignores a byte order mark (RFC 8259 section 8.1). */
export function parseJsonBytes(bytes: Buffer): ParsedJson {
  if (!isUtf8(bytes)) return refused("text_invalid", "must be encoded as UTF-8");
  const text = bytes.toString("utf8");
  return parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
}

/** @param text is well-formed, except possibly for its escapes. */
function parse(text: string): ParsedJson {
  const { exceeded, changedNumber, repeatedNames } = scanJson(text, {
    depth: JSON_MAX_DEPTH,
    values: JSON_MAX_VALUES,
    repeatedNames: 1,
  });
  if (exceeded === "depth")
    return refused("json_too_deep", `must not nest deeper than ${JSON_MAX_DEPTH} levels`);
  if (exceeded === "values")
    return refused("json_invalid", `must not hold more than ${JSON_MAX_VALUES} values`);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return refused("json_invalid", "must be valid JSON");
  }
  if (SUSPECT_ESCAPE.test(text) && !hasCleanEscapes(text)) return refusedText();
  if (changedNumber?.change === "infinite") {
    return refused("json_invalid", "must not hold a number beyond 1.8e308");
  }
  if (changedNumber !== null) {
    const { digits } = changedNumber;
    return refused(
      "json_invalid",
      `must not hold the number ${shortened(digits)}, which would be rounded: send it as text`,
    );
  }
  const [repeated] = repeatedNames;
  if (repeated === undefined) return { ok: true, value };
  const name = shortened(String(repeated.path.at(-1)));
  return refused("json_invalid", `must not hold ${JSON.stringify(name)} twice in one object`);
}

function shortened(text: string): string {
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED).toWellFormed()}…`;
}

/** Returns true if no escape is NUL or half of a surrogate pair. Valid JSON has backslashes only in strings. */
function hasCleanEscapes(text: string): boolean {
  for (
    let at = text.indexOf("\\");
    at >= 0;
    at = text.charCodeAt(at) === BACKSLASH ? at : text.indexOf("\\", at)
  ) {
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

/** Returns the UTF-16 unit of the `\uXXXX` escape at this index, or `null` if there is none. */
function escapedUnit(text: string, at: number): number | null {
  if (text.charCodeAt(at) !== BACKSLASH || text.charCodeAt(at + 1) !== LETTER_U) return null;
  let unit = 0;
  for (let index = at + 2; index < at + 6; index += 1) {
    const digit = text.charCodeAt(index);
    // The low four bits of a letter, in either case, are its value minus 9.
    unit = unit * 16 + (digit & 15) + (digit > 0x39 ? 9 : 0);
  }
  return unit;
}

function refusedText(): ParsedJson {
  return refused("text_invalid", "must not hold NUL or a lone surrogate");
}

function refused(code: "json_invalid" | "json_too_deep" | "text_invalid", problem: string): ParsedJson {
  return { ok: false, code, problem };
}
