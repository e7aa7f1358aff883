// Text that others have written (models, tools, people elsewhere), made harmless for a terminal: no part of it may move the cursor, change
// colours, the title or the clipboard, make links, or stand in another order than it is read.

/** What makes text stand in another order than it has: embeddings, overrides and isolates of Unicode's bidirectional algorithm. */
const REORDERING = /[\u202A-\u202E\u2066-\u2069]/g;
/** Everything that terminals obey, but line feed and tab: the C0 and C1 controls and DEL. */
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
/** What terminals obey or turn around, and JSON does not write as a number by itself. */
const UNESCAPED = /[\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g;
/** No sign, or none that can be seen: controls, formats, what nobody has defined, spaces but the common one, what fonts leave out, empty Braille. */
const INVISIBLE = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const PICTURES = 0x2400;
const DELETE = 0x7f;

/** The same text over several lines, with a sign in place of each character that a terminal would obey. */
export function harmlessText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replaceAll(/[\u2028\u2029]/g, "\n")
    .replaceAll(CONTROLS, pictureOf)
    .replaceAll(REORDERING, "\uFFFD");
}

/** The same in one line: white space of any kind becomes one space. */
export function harmlessLine(text: string): string {
  return harmlessText(text.replaceAll(/\s+/g, " ")).trim();
}

/** JSON in which everything can be seen: whatever a terminal would not show as it is, or show as nothing, is written as its number. */
export function visibleJson(value: unknown): string {
  return (JSON.stringify(value) ?? "null").replaceAll(INVISIBLE, escaped);
}

/** JSON of the same value, in which nothing drives a terminal or changes the order of what is read. Throws like `JSON.stringify`. */
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
