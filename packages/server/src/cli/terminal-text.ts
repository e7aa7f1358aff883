// Makes untrusted text (from models, tools, other users) safe for a terminal: it cannot move the cursor, change colours,
// title or clipboard, create links, or reorder the text that is displayed.

/** Characters that reorder text: embeddings, overrides and isolates of Unicode's bidirectional algorithm. */
const REORDERING = /[\u202A-\u202E\u2066-\u2069]/g;
/** Terminal control characters except line feed and tab: the C0 and C1 controls and DEL. */
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
/** Control and reordering characters that `JSON.stringify` does not escape. */
const UNESCAPED = /[\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g;
const PICTURES = 0x2400;
const DELETE = 0x7f;

/** Replaces each control character by a visible symbol. Keeps line breaks. */
export function harmlessText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replaceAll(/[\u2028\u2029]/g, "\n")
    .replaceAll(CONTROLS, pictureOf)
    .replaceAll(REORDERING, "\uFFFD");
}

/** Like `harmlessText`, in one line: each run of white space becomes one space. */
export function harmlessLine(text: string): string {
  return harmlessText(text.replaceAll(/\s+/g, " ")).trim();
}

/** Returns JSON with control and reordering characters escaped. Throws like `JSON.stringify`. */
export function harmlessJson(value: unknown, indentation = 0): string {
  return (JSON.stringify(value, null, indentation) ?? "null").replaceAll(UNESCAPED, escaped);
}

function escaped(character: string): string {
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
    .join("");
}

function pictureOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(PICTURES + code);
  return code === DELETE ? "\u2421" : "\uFFFD";
}

const SEGMENTS = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303E\uFE30-\uFE4F\uFF01-\uFF60\uFFE0-\uFFE6]|\uFE0F/u;
const ZERO_WIDTH = /^[\p{Mark}\p{Cf}\p{Cc}]+$/u;

/** Estimates the width in terminal columns; terminals disagree about some emoji. */
export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of SEGMENTS.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** Truncates the text to at most `columns` columns, with an ellipsis. */
export function truncateToWidth(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let width = 1;
  let kept = "";
  for (const { segment } of SEGMENTS.segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns) break;
    kept += segment;
  }
  return columns < 1 ? "" : `${kept.trimEnd()}…`;
}

function graphemeWidth(grapheme: string): number {
  if (ZERO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
