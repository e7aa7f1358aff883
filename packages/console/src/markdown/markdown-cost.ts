// Markdown whose reading would hold up the page. Parsers take the square of a length and more, and some end at the size of the stack; a model
// that repeats one mark, or a tool that quotes a page which wants this, must not take the conversation away. What a reading takes at most is
// guessed from what is in a text, since nothing can end it once it has begun; and a text is read again while it grows.

import { withoutCode } from "./fenced-code.ts";

/** More than anybody writes. */
const MOST_CHARACTERS = 100_000;
/** Quotes and lists that begin on one line; each begins in the one before. */
const MOST_ON_A_LINE = 16;
/** Those beyond two on a line, in all lines together. */
const MOST_ON_LINES = 400;
/** Columns before the mark of a list: two for each list around it. */
const MOST_COLUMNS = 80;
/** Marks of emphasis in one run. */
const MOST_MARKS = 100;
/** Microseconds of a processor that is not the fastest. */
const MOST_WORK = 600_000;

/** Microseconds, measured with texts that are nothing but the one thing. */
const COST = {
  /** By number. */
  character: 0.8,
  line: 15,
  block: 40,
  container: 80,
  mark: 8,
  /** By its square: in the whole text … */
  containers: 0.08,
  underlines: 0.12,
  /** … and between two blank lines. */
  lines: 0.04,
  runs: 0.36,
  emphases: 0.027,
  pictures: 1.5,
  /** By the product of two, between two blank lines. */
  bracketsAndMarks: 0.025,
  bracketsAndCharacters: 0.01,
  ticksAndCharacters: 0.05,
  /** Where a link begins that does not end: at each word it is looked back for. */
  wordsAndMarks: 0.016,
  /** Within what has no space. */
  addressesAndCharacters: 0.11,
};

/** Spaces, and marks of quotes and lists, at the beginning of a line. */
const MARKS = /^(?:[ \t]*(?:>|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)))+/;
const MARK = />|[-*+]|\d+[.)]/g;
/** A line across the page. */
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
/** Items that begin whatever is before them; with a number, only after another item. */
const BULLET = /^[-*+][ \t]+[^ \t]/;
const NUMBER = /^\d{1,9}[.)][ \t]+[^ \t]/;
const ITEM = /^(?:[-*+]|\d{1,9}[.)])[ \t]+[^ \t]/;
const BLANK = /^[ \t]*$/;
/** What makes a heading of the line before. */
const UNDERLINE = /[-=][ \t]*$/;
const RUN = /\*+|_+|~+/g;
/** What surely has its end; other marks between might take it away. */
const BRACKETS = /\[[^[\]`<\\]*\]/g;
const WORD = /[\w.+-]+/g;
const ANY_MARK = /[^\p{L}\p{N}\s]/gu;
const ADDRESS = /www\.|https?:|@/gi;

/** Whether a text is better shown as it was written. Takes a time that grows with the length of the text alone. */
export function isCostly(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return true;
  const lines = withoutCode(text.split(/\r\n?|\n/));
  return isDeep(lines) || workOf(text, lines) > MOST_WORK;
}

/** Marks at the beginning of a line, but for lines across the page. */
function marksOf(line: string): string {
  return RULE.test(line) ? "" : (MARKS.exec(line)?.[0] ?? "");
}

function count(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}

function isDeep(lines: readonly string[]): boolean {
  let onLines = 0;
  return lines.some((line) => {
    if (RULE.test(line)) return false;
    const marks = marksOf(line);
    const begun = count(marks, MARK);
    onLines += Math.max(0, begun - 2);
    return (
      begun > MOST_ON_A_LINE ||
      onLines > MOST_ON_LINES ||
      (begun > 0 && marks.search(/[^ \t]/) > MOST_COLUMNS) ||
      line.match(RUN)?.some((run) => run.length > MOST_MARKS) === true
    );
  });
}

function workOf(text: string, lines: readonly string[]): number {
  const containers = lines.reduce((sum, line) => sum + count(marksOf(line), MARK), 0);
  const underlines = lines.filter((line) => UNDERLINE.test(line)).length;
  let work = text.length * COST.character + lines.length * COST.line;
  work += containers * COST.container + containers ** 2 * COST.containers;
  work += underlines ** 2 * COST.underlines;
  for (const block of blocksOf(lines)) work += workOfBlock(block);
  return work;
}

/** What no link, no emphasis and no code within a line goes beyond: lines without a blank one between them, and items of a list. */
function blocksOf(lines: readonly string[]): readonly (readonly string[])[] {
  const blocks: string[][] = [];
  let block: string[] = [];
  for (const line of lines) {
    const isBlank = BLANK.test(line);
    if (isBlank || BULLET.test(line) || (NUMBER.test(line) && ITEM.test(block[0] ?? ""))) block = [];
    if (isBlank) continue;
    if (block.length === 0) blocks.push(block);
    block.push(line);
  }
  return blocks;
}

function workOfBlock(lines: readonly string[]): number {
  const block = lines.filter((line) => !RULE.test(line)).join("\n");
  const marks = count(block, ANY_MARK);
  const brackets = count(block, /[[\]]/g);
  return (
    COST.block +
    marks * COST.mark +
    lines.length ** 2 * COST.lines +
    count(block, RUN) ** 2 * COST.runs +
    count(block, /[*_~]/g) ** 2 * COST.emphases +
    count(block, /!\[/g) ** 2 * COST.pictures +
    brackets * (marks + lines.length) * COST.bracketsAndMarks +
    brackets * block.length * COST.bracketsAndCharacters +
    count(block, /`+/g) * block.length * COST.ticksAndCharacters +
    workOfOpenBrackets(block, marks + lines.length) +
    workOfAddresses(block)
  );
}

function workOfOpenBrackets(block: string, marks: number): number {
  const open = block.replace(BRACKETS, "").replace(BRACKETS, "");
  const words = open.includes("[") ? count(block, WORD) : 0;
  return words * (words + marks) * COST.wordsAndMarks;
}

function workOfAddresses(block: string): number {
  let work = 0;
  for (const word of block.split(/\s+/))
    work += count(word, ADDRESS) * word.length * COST.addressesAndCharacters;
  return work;
}
