// Text forms of values that a person approves.

import { visibleJson } from "@colloquy/client";

/** Maximum characters of indented JSON. In larger texts, indentation could dominate. */
const MAX_INDENTED = 256 * 1_024;
/** Right-to-left letters: Hebrew, Arabic and similar scripts. */
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
const TEXTS = /("(?:[^"\\]|\\.)*")/;

/** Returns the value as JSON with every character visible, indented where that is readable. */
export function approvedText(value: unknown): string {
  const indented = visibleJson(value, 2);
  return indented.length <= MAX_INDENTED ? indented : visibleJson(value);
}

/** Returns a text without JSON quotes, with every character visible. */
export function visibleText(text: string): string {
  return visibleJson(text).slice(1, -1);
}

/**
 * Splits JSON so that every second part is a string to isolate (`bdi`): right-to-left letters would reorder
 * their surroundings, such as a number or the next field.
 */
export function isolatedTexts(json: string): readonly string[] {
  return RIGHT_TO_LEFT.test(json) ? json.split(TEXTS) : [json];
}
