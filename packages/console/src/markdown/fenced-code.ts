const BEGIN = /^(?:(`{3,})[^`]*|(~{3,}).*)$/;
const END = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;
/**
 * A line after which fences are uncertain: a fence in a list or quote ends with its container, and HTML
 * disables fences.
 */
const UNCERTAIN = /`{3}|~{3}|^[\s>*+\-\d.)]*</;

/**
 * Replaces lines of fenced code, in which marks have no meaning, by blank lines. Without a parser only fences
 * at the start of a line are certain, so code after an uncertain line is kept.
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
    isCertain = !UNCERTAIN.test(line);
    return line;
  });
}
