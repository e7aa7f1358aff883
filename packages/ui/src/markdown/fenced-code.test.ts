import type { Nodes } from "mdast";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { expect, it } from "vitest";
import { withoutCode } from "./fenced-code.ts";

const reader = unified().use(remarkParse).use(remarkGfm);
const LINES = [
  "```",
  "````",
  "~~~",
  "``` ts",
  "``` `",
  "~~~ `a`",
  "  ```",
  "    ```",
  "\t```",
  "``` ",
  "```a```",
  "",
  "a",
  "  a",
  "- a",
  "- ```",
  "  - a",
  "> a",
  "> ```",
  "1. a",
  "   ```",
  "[^a]: b",
  '[a]: b "',
  "<div>",
  "<!--",
  "-->",
  "<b>",
  "|a|",
  "|-|",
  "===",
  "---",
  "    a",
  "\t",
];

/**
 * Returns the 1-based numbers of the lines that a parser treats as code, fences or HTML, where marks have no
 * meaning.
 */
function rawLines(node: Nodes, found = new Set<number>()): ReadonlySet<number> {
  const { position } = node;
  if ((node.type === "code" || node.type === "html") && position !== undefined)
    for (let line = position.start.line; line <= position.end.line; line += 1) found.add(line);
  if ("children" in node) for (const child of node.children) rawLines(child, found);
  return found;
}

it("never blanks a line outside code", { timeout: 120_000 }, () => {
  let state = 1;
  const next = (): string => {
    state = (state * 48_271) % 2_147_483_647;
    return LINES[state % LINES.length]!;
  };
  let taken = 0;
  for (let text = 1; text <= 3_000; text += 1) {
    const lines = Array.from({ length: 8 }, next);
    const raw = rawLines(reader.parse(lines.join("\n")));
    for (const [at, line] of withoutCode(lines).entries()) {
      if (line === lines[at]) continue;
      taken += 1;
      expect({ lines, at, isRaw: raw.has(at + 1) }).toEqual({ lines, at, isRaw: true });
    }
  }
  expect(taken).toBeGreaterThan(1_000);
});
