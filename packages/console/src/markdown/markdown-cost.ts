// Markdown whose reading would hold up the page. Parsers take the square of a depth and more, and some end at the size of the stack; a model
// that repeats one mark, or a tool that quotes a page which wants this, must not take the conversation away.

/** More than anybody writes, and at these bounds a reading takes less than a second. */
const MOST_CHARACTERS = 100_000;
/** Quotes and lists that begin on one line; each begins in the one before. */
const MOST_ON_A_LINE = 16;
/** Those beyond two on a line, in all lines together. */
const MOST_ON_LINES = 400;
/** Columns before the mark of a list: two for each list around it. */
const MOST_COLUMNS = 80;
/** Runs of marks that may begin or end an emphasis, between two blank lines, and marks in one run. */
const MOST_RUNS = 1_500;
const MOST_MARKS = 100;

/** Spaces, and marks of quotes and lists, at the beginning of a line. */
const MARKS = /^(?:[ \t]*(?:>|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)))+/;
const MARK = />|[-*+]|\d+[.)]/g;
/** A line across the page. */
const RULE = /^[ \t]*([-*_])(?:[ \t]*\1)+[ \t]*$/;
const RUN = /[*_~]+/g;

/** Whether a text is better shown as it was written. Takes a time that grows with the length of the text alone. */
export function isCostly(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return true;
  let onLines = 0;
  let runs = 0;
  for (const line of text.split("\n")) {
    if (RULE.test(line)) continue;
    const [marks = ""] = MARKS.exec(line) ?? [];
    const count = marks.match(MARK)?.length ?? 0;
    if (count > MOST_ON_A_LINE || (count > 0 && marks.search(/[^ \t]/) > MOST_COLUMNS)) return true;
    onLines += Math.max(0, count - 2);
    const found = line.match(RUN) ?? [];
    runs = line.trim() === "" ? 0 : runs + found.length;
    if (onLines > MOST_ON_LINES || runs > MOST_RUNS || found.some((run) => run.length > MOST_MARKS))
      return true;
  }
  return false;
}
