// Mathematics in answers. Before parsing, each formula is replaced with inline code between two marks, because
// Markdown does not interpret the content of code. Dollar amounts are left alone. No character is lost: a formula in
// indented code or in a link is restored after parsing.

import type { Root, RootContent } from "mdast";
import type { Transformer } from "unified";

/**
 * Marks before and after a formula, by its opening delimiter ("" for an environment). From a private use area, so that
 * they do not occur by accident.
 */
const MARKS: Readonly<Record<string, readonly [begin: string, end: string]>> = {
  $: ["\uE010", "\uE011"],
  $$: ["\uE012", "\uE013"],
  "\\(": ["\uE014", "\uE015"],
  "\\[": ["\uE016", "\uE017"],
  "": ["\uE018", "\uE019"],
};
const CLOSERS: Readonly<Record<string, string>> = {
  "\\(": "\\)",
  "\\[": "\\]",
  $$: "$$",
  $: "$",
  "": "",
};
/** Replace line breaks, which could start a list, and bars, which would end a table cell. */
const LINE_BREAK = "\uE01A";
const BAR = "\uE01B";
/** Source text of each mark. */
const SOURCES = new Map([
  ...Object.entries(MARKS).flatMap(([opener, [begin, end]]): [string, string][] => [
    [begin, opener],
    [end, CLOSERS[opener] ?? ""],
  ]),
  [LINE_BREAK, "\n"],
  [BAR, "|"],
]);
const BEGIN = /^[\uE010\uE012\uE014\uE016\uE018]/;
const MARKED = /`?[\uE010\uE012\uE014\uE016\uE018]|[\uE011\uE013\uE015\uE017\uE019]`?|[\uE01A\uE01B]/g;
/** Maximum characters of a formula. Longer ones stay text. */
const LONGEST = 5_000;
/** Maximum characters of list and quote markers before a fence. */
const LONGEST_MARKERS = 200;
/** Codes, addresses, and what begins a formula. */
const TOKENS =
  /`+|~{3,}|https?:\/\/[\w\-.~:/?#@!$&'*+,;=%]+|\$\$?|\\[\\$([]|\\begin\{(?:align|alignat|equation|gather|multline)\*?\}/g;

export interface Formula {
  readonly tex: string;
  readonly isDisplay: boolean;
}

/** Returns the formula encoded in inline code; `null` for ordinary code. */
export function formulaOf(code: string): Formula | null {
  const [mark] = BEGIN.exec(code) ?? [];
  if (mark === undefined) return null;
  // In one line, without comments: TeX reads a line break as a space.
  const tex = sourceOf(code.slice(1, -1))
    .replaceAll(/(?<!\\)%[^\n]*/g, "")
    .replaceAll(/\n[ \t]*>?[ \t]*/g, " ")
    .trim();
  return { tex, isDisplay: mark !== MARKS["$"]?.[0] && mark !== MARKS["\\("]?.[0] };
}

/** Restores the source of marked formulas. */
function sourceOf(text: string): string {
  return text.replaceAll(MARKED, (marked) => SOURCES.get(marked.replace("`", "")) ?? "");
}

/** Remark plugin: restores the source of formulas outside inline code of their own. */
export function remarkFormulas(): Transformer {
  return (tree) => restore(tree as Root);
}

function restore(parent: { readonly children: RootContent[] }): void {
  for (const node of parent.children) {
    if ("children" in node) restore(node);
    if (node.type === "inlineCode" && formulaOf(node.value) !== null) continue;
    if ("value" in node) node.value = sourceOf(node.value);
    if ("url" in node) node.url = sourceOf(node.url);
    if ("title" in node && typeof node.title === "string") node.title = sourceOf(node.title);
    if ("alt" in node && typeof node.alt === "string") node.alt = sourceOf(node.alt);
  }
}

/**
 * Replaces the formulas `$…$`, `$$…$$`, `\(…\)`, `\[…\]` and `\begin{align}…` outside code with marked inline code.
 */
export function markFormulas(text: string): string {
  if (!/\$|\\[([]|\\begin\{/.test(text)) return text;
  const closers = new Map<string, number>();
  let marked = "";
  let done = 0;
  TOKENS.lastIndex = 0;
  for (let token = TOKENS.exec(text); token !== null; token = TOKENS.exec(text)) {
    const [found] = token;
    const from = token.index;
    if (/^[`~]/.test(found)) TOKENS.lastIndex = endOfCode(text, from, found);
    const isEnvironment = found.startsWith("\\begin");
    const closer = isEnvironment ? found.replace("begin", "end") : CLOSERS[found];
    if (closer === undefined) continue;
    const inner = endOfFormula(text, from + found.length, { closer, closers });
    if (inner === null) continue;
    const to = inner + closer.length;
    const opener = isEnvironment ? "" : found;
    const tex = isEnvironment ? text.slice(from, to) : text.slice(from + found.length, inner);
    if (!isFormula(text, { opener, from, tex, after: to })) continue;
    marked += text.slice(done, from) + codeFor(tex, opener);
    done = TOKENS.lastIndex = to;
  }
  return marked + text.slice(done);
}

/** Returns the end of the code that starts at `from`; the end of its opening fence if nothing closes it. */
function endOfCode(text: string, from: number, fence: string): number {
  const isBlock = fence.length >= 3 && /^[\s>*+\-\d.)]*$/.test(lineBefore(text, from));
  const after = from + fence.length;
  // An unclosed code block extends to the end of the text.
  if (isBlock) {
    const end = text.indexOf(`\n${fence}`, after);
    if (end !== -1) return end + 1 + fence.length;
    const indented = new RegExp(`\\n[ \\t>]+${fence}`).exec(text.slice(after));
    return indented === null ? text.length : after + indented.index + indented[0].length;
  }
  if (fence.startsWith("~")) return after;
  for (let at = text.indexOf(fence, after); at !== -1 && at - after <= LONGEST; ) {
    let end = at;
    while (text[end] === "`") end += 1;
    // A longer run does not end the code.
    if (end - at === fence.length) return end;
    at = text.indexOf(fence, end);
  }
  return after;
}

/**
 * Returns the text from the start of the line to `from`, limited to the last `LONGEST_MARKERS` characters.
 */
function lineBefore(text: string, from: number): string {
  const before = text.slice(Math.max(0, from - LONGEST_MARKERS), from);
  return before.slice(before.lastIndexOf("\n") + 1);
}

/** Returns the position of the closing delimiter; `null` if the paragraph ends first. */
function endOfFormula(
  text: string,
  from: number,
  { closer, closers }: { readonly closer: string; readonly closers: Map<string, number> },
): number | null {
  // Cache the position of each closer, so that many openers do not cause quadratic time.
  let end = closers.get(closer) ?? -2;
  if (end !== -1 && end < from) closers.set(closer, (end = text.indexOf(closer, from)));
  if (end === -1 || end - from > LONGEST || end === from) return null;
  return /\n[ \t>]*\n/.test(text.slice(from, end)) ? null : end;
}

interface Found {
  readonly opener: string;
  readonly from: number;
  readonly tex: string;
  readonly after: number;
}

/** Returns false for dollar amounts and shell variables. */
function isFormula(text: string, { opener, from, tex, after }: Found): boolean {
  if (tex.trim() === "" || tex.includes("`")) return false;
  if (opener !== "$") return true;
  if (/[\w$\\]/.test(text[from - 1] ?? "") || /[\w$]/.test(text[after] ?? "")) return false;
  if (/^\s|\s$|\\$|\n/.test(tex)) return false;
  const isAmount = /^[\d.,]/.test(tex) && /\p{L}{2}/u.test(tex) && !tex.includes("\\");
  return !isAmount;
}

function codeFor(tex: string, opener: string): string {
  const [begin = "", end = ""] = MARKS[opener] ?? [];
  // An escaped bar is a norm, except in a table, which removes the backslash.
  const inside = tex.replaceAll(/\r\n?|\n/g, LINE_BREAK).replaceAll(/(?<!\\)\|/g, BAR);
  return `\`${begin}${inside}${end}\``;
}
