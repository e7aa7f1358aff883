// Detects Markdown whose parsing would block the page. Parsers take quadratic time or worse, and some
// overflow the stack. A model that repeats one mark, or a tool that quotes a malicious page, must not make
// the conversation unusable. Parsing cannot be interrupted and repeats as a text grows, so its cost is
// estimated first.

import { withoutCode } from "./fenced-code.ts";

/** Maximum length in characters, more than people write. */
const MAX_CHARACTERS = 100_000;
/** Maximum nested quotes and lists that start on one line. */
const MAX_PER_LINE = 16;
/** Maximum sum over all lines of the marks beyond two per line. */
const MAX_ON_LINES = 400;
/** Maximum indentation before a list mark: two columns per enclosing list. */
const MAX_COLUMNS = 80;
/** Maximum number of emphasis marks in a row. */
const MAX_MARKS = 100;
/** Maximum estimated cost, in CPU microseconds on a slow processor. */
const MAX_WORK = 600_000;

/** Cost factors in microseconds, each measured with a text that contains only that construct. */
const COST = {
  /** Linear factor. */
  character: 0.8,
  line: 15,
  block: 40,
  container: 80,
  mark: 8,
  /** Quadratic factors over the whole text. */
  containers: 0.08,
  underlines: 0.12,
  /** Quadratic factors within a block (between two blank lines). */
  lines: 0.04,
  runs: 0.36,
  emphases: 0.027,
  pictures: 1.5,
  /** Per product of both counts, within a block. */
  bracketsAndMarks: 0.025,
  bracketsAndCharacters: 0.01,
  ticksAndCharacters: 0.05,
  /** Per word and unclosed link start: the parser looks back for a link start at each word. */
  wordsAndMarks: 0.016,
  /** Per product of both counts, within text without spaces. */
  addressesAndCharacters: 0.11,
};

/** Spaces and quote or list marks at the start of a line. */
const MARKS = /^(?:[ \t]*(?:>|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)))+/;
const MARK = />|[-*+]|\d+[.)]/g;
/** A thematic break. */
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
/** List items that may interrupt a paragraph; a numbered item may do so only after another item. */
const BULLET = /^[-*+][ \t]+[^ \t]/;
const NUMBER = /^\d{1,9}[.)][ \t]+[^ \t]/;
const ITEM = /^(?:[-*+]|\d{1,9}[.)])[ \t]+[^ \t]/;
const BLANK = /^[ \t]*$/;
/** Line that turns the previous line into a heading. */
const UNDERLINE = /[-=][ \t]*$/;
const RUN = /\*+|_+|~+/g;
/**
 * Matches brackets that are certainly closed. Excludes those with marks inside, which might open code or a
 * tag.
 */
const BRACKETS = /\[[^[\]`<\\]*\]/g;
const WORD = /[\w.+-]+/g;
const ANY_MARK = /[^\p{L}\p{N}\s]/gu;
const ADDRESS = /www\.|https?:|@/gi;

/** Returns true if the text should be shown unformatted. Takes linear time. */
export function isCostly(text: string): boolean {
  if (text.length > MAX_CHARACTERS) return true;
  const lines = withoutCode(text.split(/\r\n?|\n/));
  return isDeep(lines) || workOf(text, lines) > MAX_WORK;
}

/** Returns the marks at the start of a line, except thematic breaks. */
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
      begun > MAX_PER_LINE ||
      onLines > MAX_ON_LINES ||
      (begun > 0 && marks.search(/[^ \t]/) > MAX_COLUMNS) ||
      line.match(RUN)?.some((run) => run.length > MAX_MARKS) === true
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

/** Splits lines into blocks (paragraphs and list items), which no link, emphasis or inline code crosses. */
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
