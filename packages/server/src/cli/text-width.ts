// Estimates the width of text in terminal columns. Terminals disagree about some emoji.

const SEGMENTS = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303E\uFE30-\uFE4F\uFF01-\uFF60\uFFE0-\uFFE6]|\uFE0F/u;
const ZERO_WIDTH = /^[\p{Mark}\p{Cf}\p{Cc}]+$/u;

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
