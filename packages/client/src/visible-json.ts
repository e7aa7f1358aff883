// What a person approves is what they saw: JSON in which no character hides, and none changes the order of what is read.

/**
 * Characters that show nothing or something else than they are: controls, formats (marks of direction among them), unassigned and private
 * ones, every space but U+0020, default-ignorable ones, and the blank Braille pattern. Raw line feeds are indentation: those of texts are escaped.
 */
const INVISIBLE = /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * JSON of `value` to be shown before somebody approves it: every character that cannot be seen is written as its `\u` escape, so that
 * parsing the text gives `value` again. With `indentation`, over several lines.
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
