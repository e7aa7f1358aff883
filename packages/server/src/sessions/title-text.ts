import { PLACEHOLDER_TITLE } from "../core/session.ts";
import { cleanText } from "../core/text.ts";

/** Maximum UTF-16 units of a plain title, without the ellipsis. */
const MAX_MADE = 60;
/** Maximum characters read of a model's answer. */
const MAX_ANSWER = 400;
/** Splits into grapheme clusters, so that a cut never splits an emoji. Created on demand, because that is slow. */
let characters: Intl.Segmenter | null = null;

/** Returns the first visible line of the message, cut at a word. Clean text, never empty. */
export function plainTitle(message: string): string {
  const line = firstLine(message);
  if (line === "") return PLACEHOLDER_TITLE;
  if (line.length <= MAX_MADE) return line;
  const start = wholeCharacters(line);
  const space = line.charAt(start.length) === " " ? start.length : start.lastIndexOf(" ");
  // Without a word boundary in the second half (one long word, Chinese), cut between two characters.
  return `${(space < MAX_MADE / 2 ? start : start.slice(0, space)).trimEnd()}…`;
}

/** Cleans a model's title: one line without quotes and final full stop. Returns `null` if nothing is left. */
export function cleanTitle(answer: string): string | null {
  // Cut first: the pattern takes quadratic time.
  const line = firstLine(cleanText(answer.slice(0, MAX_ANSWER)));
  const bare = line.replace(/^["'“”«*#\s]+|["'“”»*.\s]+$/gu, "");
  return bare === "" ? null : plainTitle(bare);
}

function firstLine(text: string): string {
  for (const line of text.split(/[\r\n]/)) {
    const shown = line.replace(/[\s\p{Cc}]+/gu, " ").trim();
    if (shown !== "") return shown;
  }
  return "";
}

/** Returns as many whole characters as fit; if the first one is too long, its whole code points. */
function wholeCharacters(text: string): string {
  let end = 0;
  characters ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { index, segment } of characters.segment(text.slice(0, 2 * MAX_MADE))) {
    if (index + segment.length > MAX_MADE) break;
    end = index + segment.length;
  }
  return end > 0 ? text.slice(0, end) : text.slice(0, MAX_MADE).replace(/[\uD800-\uDBFF]$/, "");
}
