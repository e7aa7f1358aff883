import { PLACEHOLDER_TITLE } from "../core/session.ts";
import { cleanText } from "../core/text.ts";

/** Characters (UTF-16 units) of a title that is made here, before the ellipsis. */
const MAX_MADE = 60;
/** Characters of a model's answer that are looked at. */
const MAX_ANSWER = 400;
/** Characters as people see them: a family emoji is one, and a cut must not go through it. Made when a title is long: it takes a while. */
let characters: Intl.Segmenter | null = null;

/** A title made from the first message itself: its first line that shows anything, cut at a word. Clean text, never empty. */
export function plainTitle(message: string): string {
  const line = firstLine(message);
  if (line === "") return PLACEHOLDER_TITLE;
  if (line.length <= MAX_MADE) return line;
  const start = wholeCharacters(line);
  const space = line.charAt(start.length) === " " ? start.length : start.lastIndexOf(" ");
  // Without a word's end in its second half (one long word, Chinese) the title ends between two characters.
  return `${(space < MAX_MADE / 2 ? start : start.slice(0, space)).trimEnd()}…`;
}

/** What a model answered as a title: one line without quotes and final full stop; `null` when nothing is left of it. */
export function cleanTitle(answer: string): string | null {
  // Cut first: the pattern takes time that grows with the square of what it is given.
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

/** As many whole characters of the text's beginning as fit; of one that is too long by itself, its whole code points. */
function wholeCharacters(text: string): string {
  let end = 0;
  characters ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { index, segment } of characters.segment(text.slice(0, 2 * MAX_MADE))) {
    if (index + segment.length > MAX_MADE) break;
    end = index + segment.length;
  }
  return end > 0 ? text.slice(0, end) : text.slice(0, MAX_MADE).replace(/[\uD800-\uDBFF]$/, "");
}
