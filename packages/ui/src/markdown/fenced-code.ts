// Fenced code blocks (CommonMark section 4.5), found without a Markdown parser.

const BEGIN = /^(?:(`{3,})[^`]*|(~{3,}).*)$/;
const END = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;
/**
 * Matches a line after which fences are ambiguous: a fence in a list or block quote ends with its container, and
 * an HTML block disables fences.
 */
const AMBIGUOUS = /`{3}|~{3}|^[\s>*+\-\d.)]*</;

/**
 * Replaces the lines of fenced code by empty lines. Recognizes only fences at the start of a line. After an
 * ambiguous line, all lines are returned unchanged.
 */
export function withoutCode(lines: readonly string[]): readonly string[] {
  let fence: string | null = null;
  let isCertain = true;
  return lines.map((line) => {
    if (!isCertain) return line;
    if (fence !== null) {
      const end = END.exec(line)?.[1];
      if (end?.startsWith(fence) === true) fence = null;
      return "";
    }
    const [, ticks, tildes] = BEGIN.exec(line) ?? [];
    fence = ticks ?? tildes ?? null;
    if (fence !== null) return "";
    isCertain = !AMBIGUOUS.test(line);
    return line;
  });
}

const DOCUMENT = /^( {0,3})```(markdown|mdx?)[ \t]*$/i;
const FENCE = /^\s*(`{3,})([^`]*)$/;

/**
 * Lengthens the fences around a Markdown document that contains fenced code. Models often write inner and outer
 * fences of the same length, so that the first inner fence would close the outer block.
 */
export function withNestedFences(text: string): string {
  if (!/^ {0,3}```(?:markdown|mdx?)[ \t]*$/im.test(text)) return text;
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const [, indent, language] = DOCUMENT.exec(lines[at] ?? "") ?? [];
    const end = endOfBlock(lines, at);
    if (indent !== undefined && end.isNested) {
      const fence = indent + "`".repeat(end.longest + 1);
      lines[at] = `${fence}${language}`;
      if (end.at < lines.length) lines[end.at] = fence;
    }
    at = end.at;
  }
  return lines.join("\n");
}

interface BlockEnd {
  /** Index of the closing line; the number of lines if the block is not closed. */
  readonly at: number;
  /** True if the block is a Markdown document that contains fenced code. */
  readonly isNested: boolean;
  /** Length of the longest fence in the block. */
  readonly longest: number;
}

/** Finds the end of the block that starts at line `from`; `at` is `from` if no block starts there. */
function endOfBlock(lines: readonly string[], from: number): BlockEnd {
  const [, ticks, tildes] = BEGIN.exec(lines[from]?.replace(/^ {1,3}/, "") ?? "") ?? [];
  const fence = ticks ?? tildes;
  if (fence === undefined) return { at: from, isNested: false, longest: 0 };
  const isDocument = DOCUMENT.test(lines[from] ?? "");
  let depth = 1;
  let longest = fence.length;
  let isNested = false;
  for (let at = from + 1; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const [, inner = "", info = ""] = (isDocument && FENCE.exec(line)) || [];
    longest = Math.max(longest, inner.length);
    const isBegin = info.trim() !== "";
    if (isBegin) isNested = true;
    if (isDocument && inner !== "") depth += isBegin ? 1 : -1;
    if (isDocument ? depth === 0 : END.exec(line)?.[1]?.startsWith(fence) === true)
      return { at, isNested, longest };
  }
  return { at: lines.length, isNested, longest };
}
