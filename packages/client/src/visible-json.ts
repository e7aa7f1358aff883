// Formats JSON for approvals, with no hidden characters and none that change the reading order, so that users
// approve exactly what they see.

/**
 * Characters that are invisible or misleading: controls, formats (including direction marks), unassigned and
 * private ones, all spaces but U+0020, default-ignorable ones and the blank Braille pattern. Raw line feeds
 * are indentation: those in strings are escaped.
 */
const INVISIBLE = /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Returns JSON of `value` for display before an approval: invisible characters are written as `\u` escapes,
 * so that parsing the text gives `value` again. With `indentation`, over several lines.
 */
export function visibleJson(value: unknown, indentation = 0): string {
  return (JSON.stringify(value, null, indentation) ?? "null").replace(INVISIBLE, escaped);
}

function escaped(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
