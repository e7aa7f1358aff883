// How many columns a text takes in a terminal, as far as anybody can say: terminals differ about emoji.

const SEGMENTS = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303E\uFE30-\uFE4F\uFF01-\uFF60\uFFE0-\uFFE6]|\uFE0F/u;
const NOTHING = /^[\p{Mark}\p{Cf}\p{Cc}]+$/u;

export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of SEGMENTS.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** The text in at most `columns` columns; what is cut off is told by an ellipsis. */
export function fitted(text: string, columns: number): string {
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
  if (NOTHING.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
