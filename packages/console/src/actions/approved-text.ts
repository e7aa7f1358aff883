// How a value that somebody approves is written out.

import { visibleJson } from "@colloquy/client";

/** Characters. Beyond it indentation is most of what there is to read. */
const LONGEST_INDENTED = 256 * 1_024;
/** Letters that run from right to left: Hebrew, Arabic, and their like. */
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
const TEXTS = /("(?:[^"\\]|\\.)*")/;

/** All of the value as JSON, indented where that is readable, with every character in it to be seen. */
export function approvedText(value: unknown): string {
  const indented = visibleJson(value, 2);
  return indented.length <= LONGEST_INDENTED ? indented : visibleJson(value);
}

/** A text by itself, without the quotes of JSON, with every character in it to be seen. */
export function visibleText(text: string): string {
  return visibleJson(text).slice(1, -1);
}

/**
 * The text in parts, of which each second one is a text of the JSON to be isolated (`bdi`): letters that run from right to left would reorder what
 * stands beside them, such as a number or the next field.
 */
export function isolatedTexts(json: string): readonly string[] {
  return RIGHT_TO_LEFT.test(json) ? json.split(TEXTS) : [json];
}
