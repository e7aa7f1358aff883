// Undoes Markdown formatting that chat text triggers by accident. Works on the syntax tree, so code is not
// affected.

import type {
  Blockquote,
  Heading,
  Link,
  List,
  PhrasingContent,
  Root,
  RootContent,
  Strong,
  Text,
} from "mdast";
import type { Transformer } from "unified";
import { hostOf } from "./link-policy.ts";
import { formulaOf } from "./mathematics.ts";

type Parent = { children: Child[] };
type Child = RootContent;

/** Full-width punctuation and quotes. They often follow a URL without a space and are not part of it. */
const FULL_WIDTH = /[\u2018-\u201D\u2026\u3000-\u303F\uFF00-\uFF0F\uFF1A-\uFF20\uFF3B-\uFF40\uFF5B-\uFF65]/;
/** Operands of a product: a number, a single letter, or a group in parentheses. */
const LEFT_OPERAND = /(?:(?<![\w.])(?:\d[\d.,]*|[A-Za-z])|\))$/;
const RIGHT_OPERAND = /^(?:(?:\d[\d.,]*|[A-Za-z])(?!\w)|\()/;
const ALERT = /^\[!(?=(?:note|tip|important|warning|caution)\])([a-z])([a-z]+)\]$/i;
/** Smallest list number that counts as a year. */
const YEAR = 1_000;

/** Remark plugin; must run after GFM. */
export function remarkChatText(): Transformer {
  return (tree, file) => correct(tree as Root, String(file.value));
}

function correct(parent: Parent, source: string): void {
  parent.children = parent.children.flatMap((node, at, nodes): Child[] => {
    if ("children" in node) correct(node, source);
    if (node.type === "text") return linesOf(node, nodes[at - 1], nodes[at + 1]);
    if (isLineBreak(node)) return [{ type: "break" }];
    // Markers and lines beside the text stand where it begins.
    if (node.type === "heading") return dashesToLine(node, source);
    if (node.type === "blockquote") titleAlert(node);
    if (node.type === "list" || node.type === "blockquote") node.data = { hProperties: { dir: "auto" } };
    if (node.type === "link") return trimAutolink(withHost(node), source);
    if (node.type === "list") return yearToText(node);
    if (node.type === "strong" && isName(node, source)) return ["__", ...node.children, "__"].map(asNode);
    if (node.type === "emphasis" || node.type === "strong") return productToText(node, source);
    return [node];
  });
}

/** Keeps single line breaks, which models and programs mean, except beside what has a line of its own. */
function linesOf(text: Text, before: Child | undefined, after: Child | undefined): Child[] {
  const lines = text.value.split("\n");
  if (lines.length > 1 && lines[0] === "" && endsLine(before)) lines.shift();
  if (lines.length > 1 && lines.at(-1) === "" && endsLine(after)) lines.pop();
  return lines.flatMap((value, at): Child[] => [
    ...(at === 0 ? [] : [{ type: "break" } as const]),
    ...(value === "" ? [] : [{ ...text, value }]),
  ]);
}

function endsLine(node: Child | undefined): boolean {
  if (node?.type === "inlineCode") return formulaOf(node.value)?.isDisplay === true;
  return node !== undefined && (node.type === "break" || isLineBreak(node));
}

/** Returns true for `<br>`, the only line break in a cell of a table. */
function isLineBreak(node: Child): boolean {
  return node.type === "html" && /^(?:<br\s*\/?>\s*)+$/i.test(node.value);
}

/**
 * Makes no heading of a text above dashes: models separate with three, and fewer are a list of which the rest has not
 * arrived.
 */
function dashesToLine(heading: Heading, source: string): Child[] {
  const { start, end } = heading.position ?? {};
  const written = source.slice(start?.offset, end?.offset);
  const underline = written.slice(Math.max(0, written.lastIndexOf("\n")));
  const [, dashes] = /^\n[ \t>]*(-+)[ \t]*$/.exec(underline) ?? [];
  if (dashes === undefined) return [heading];
  const text: Child = { type: "paragraph", children: heading.children };
  return dashes.length < 3 ? [text] : [text, { type: "thematicBreak" }];
}

/** Shows the first line of an alert of GitHub, such as `[!NOTE]`, as its title. */
function titleAlert({ children: [first] }: Blockquote): void {
  const [mark, after] = first?.type === "paragraph" ? first.children : [];
  const [, initial = "", rest = ""] = (mark?.type === "text" && ALERT.exec(mark.value)) || [];
  if (first?.type !== "paragraph" || initial === "" || (after !== undefined && after.type !== "break"))
    return;
  // The direction is that of the text, not of this English word.
  const title: Strong = {
    type: "strong",
    children: [{ type: "text", value: initial.toUpperCase() + rest.toLowerCase() }],
    data: { hProperties: { dir: "ltr" } },
  };
  first.children.splice(0, 1, title);
}

/** Adds the host to a link whose text is an address of another host. */
function withHost(link: Link): Link {
  const address = textOf(link)
    .trim()
    .replace(/^www\./i, "http://www.");
  const [named, real] = [/^https?:/i.test(address) ? hostOf(address) : null, hostOf(link.url)];
  if (named === null || real === null || named === real) return link;
  return { ...link, children: [...link.children, { type: "text", value: ` (${real})` }] };
}

function textOf(node: Link | PhrasingContent): string {
  if ("children" in node) return node.children.map(textOf).join("");
  return "value" in node ? node.value : "";
}

/** Ends an autolink before full-width punctuation. */
function trimAutolink(link: Link, source: string): Child[] {
  const [text] = link.children;
  const { start, end } = link.position ?? {};
  if (text?.type !== "text" || link.children.length !== 1) return [link];
  if (source.slice(start?.offset, end?.offset) !== text.value) return [link];
  const at = text.value.search(FULL_WIDTH);
  if (at < 1) return [link];
  const address = text.value.slice(0, at);
  const prefix = link.url.slice(0, link.url.indexOf(text.value[0] ?? ""));
  const url = /^https?:/i.test(address) ? address : `${prefix || "http://"}${address}`;
  return [
    { ...link, url, children: [{ ...text, value: address }] },
    { type: "text", value: text.value.slice(at) },
  ];
}

/**
 * Converts a list that is really a sentence starting with a year, such as "2024. A good one.", to a
 * paragraph.
 */
function yearToText(list: List): Child[] {
  const [item] = list.children;
  const number = list.start ?? 0;
  if (list.children.length !== 1 || number < YEAR || item === undefined) return [list];
  const [first, ...rest] = item.children;
  const words: PhrasingContent = { type: "text", value: `${number}. ` };
  if (first?.type !== "paragraph") return [list];
  return [{ ...first, children: [words, ...first.children] }, ...rest];
}

/** Returns true for a Python name such as `__init__`, which must not become bold. */
function isName(node: Strong, source: string): boolean {
  const [text] = node.children;
  const isUnderlined = source[node.position?.start.offset ?? -1] === "_";
  return isUnderlined && node.children.length === 1 && text?.type === "text" && /^[a-z]\w*$/.test(text.value);
}

function asNode(part: string | PhrasingContent): PhrasingContent {
  return typeof part === "string" ? { type: "text", value: part } : part;
}

/** Restores the asterisks of products and powers: `2*3*4`, `a*b*c`, `2**3**4`. */
function productToText(
  node: Extract<PhrasingContent, { readonly type: "emphasis" | "strong" }>,
  source: string,
): Child[] {
  const [from, to] = [node.position?.start.offset, node.position?.end.offset];
  if (from === undefined || to === undefined || source[from] !== "*") return [node];
  // Limit the lookaround to the longest operand.
  const isProduct =
    LEFT_OPERAND.test(source.slice(Math.max(0, from - 24), from)) &&
    RIGHT_OPERAND.test(source.slice(to, to + 24));
  if (!isProduct) return [node];
  const stars: PhrasingContent = { type: "text", value: node.type === "strong" ? "**" : "*" };
  return [stars, ...node.children, stars];
}
