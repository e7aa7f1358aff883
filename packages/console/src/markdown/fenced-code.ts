const BEGIN = /^(?:(`{3,})[^`]*|(~{3,}).*)$/;
const END = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;
/** A line from which on nothing is certain: a fence in a list or a quote, which ends with that, or HTML, in which a fence is none. */
const UNCERTAIN = /`{3}|~{3}|^[\s>*+\-\d.)]*</;

/**
 * Lines without those of code between fences, in which no mark means anything; blank ones stand for them. Only fences at the beginning of a
 * line are known for certain without reading the text, so code is left in where anything else comes before.
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
