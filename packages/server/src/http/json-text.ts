import { isUtf8 } from "node:buffer";
import { isJsonObject, type JsonValue } from "../core/json.ts";
import { isCleanText } from "../core/text.ts";

/** Nesting of arrays and objects that a client may send (contract section 6). */
export const JSON_MAX_DEPTH = 32;

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
 * surrogates (escaped ones and those in keys too), numbers beyond the range of a double.
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
  return refusedContent(value) ?? { ok: true, value };
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

function refused(code: "json_invalid" | "json_too_deep" | "text_invalid", problem: string): ParsedJson {
  return { ok: false, code, problem };
}
