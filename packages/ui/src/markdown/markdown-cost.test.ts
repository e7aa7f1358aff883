import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { describe, expect, it } from "vitest";
import { DEEP_TEXTS } from "../../test/hostile-texts.ts";
import { isCostly } from "./markdown-cost.ts";

it.each(DEEP_TEXTS.map((text) => [text.slice(0, 20), text.length, text] as const))(
  "does not parse %j repeated to %d characters",
  (_begin, _length, text) => {
    expect(isCostly(text)).toBe(true);
  },
);

it.each([
  ["a list in lists", Array.from({ length: 12 }, (_, depth) => `${"  ".repeat(depth)}- item`).join("\n")],
  ["a quote of quotes", "> > > > once\n> > > twice\n".repeat(20)],
  ["lines across the page", `${"-".repeat(300)}\n\n${"* ".repeat(90)}\n\n${"_".repeat(120)}`],
  ["a long answer with emphasis", "The *quick* brown **fox** jumps over_the lazy `dog_s`.\n\n".repeat(1_000)],
  [
    "100,000 characters of paragraphs",
    `${"A word, *and* more [of them](https://a.example). ".repeat(16)}\n\n`.repeat(127),
  ],
  [
    "a list of 500 items",
    "- **Item**: what there is to say of it, with `code` and a [link](https://a.example).\n".repeat(500),
  ],
  ["a list of tasks", "1. [ ] Do this (and that), then the next.\n".repeat(500)],
  ["a program", "```python\n" + "    self.one_of_them = two_of_them * 3\n".repeat(300) + "```"],
  [
    "2,000 lines of code",
    "Look:\n\n- a\n\n```ts\n" + "const a = b[c] * d[e]; // `f`\n".repeat(2_000) + "```\n\nSo it is.",
  ],
  ["2,000 lines of JSON", "~~~json\n[\n" + '  { "a": [1, 2], "b_c": "*" },\n'.repeat(2_000) + "]\n~~~"],
  ["code in a list", "1. Do this:\n\n   ```ts\n" + "   const a = b[c] * d; // e\n".repeat(500) + "   ```"],
  ["a table", `|${"a|".repeat(20)}\n|${"-|".repeat(20)}\n${`|${"*x*|".repeat(20)}\n`.repeat(30)}`],
  [
    "a table of 200 rows",
    `|${"a|".repeat(5)}\n|${"-|".repeat(5)}\n${"| **Name** | `code` | [Link](https://a.example) | 12.5 | Words of it |\n".repeat(200)}`,
  ],
  [
    "a quoted mail of 500 lines",
    "> > On Monday somebody wrote, and this is a line of it:\n".repeat(250) +
      "> They answered *this*, at <a@b.example>.\n".repeat(250),
  ],
  ["a mail with one mark", `> ${"A line of a mail as it was sent to all.\n".repeat(500)}`],
  ["a number that is no list", "1234567890. and 5) and 3.14 - 2 > 1"],
])("parses %s", (_what, text) => {
  expect(isCostly(text)).toBe(false);
});

/** Builders of texts of any length. Each exercises one or more limits. */
const GROWING: readonly (readonly [string, (times: number) => string])[] = [
  ["brackets that end", (times) => "]".repeat(times)],
  ["brackets in brackets", (times) => "[".repeat(times) + "]".repeat(times)],
  ["links that begin", (times) => "[a](".repeat(times)],
  ["a link that begins, and words", (times) => `[${"word ".repeat(times)}`],
  ["many, and words", (times) => "[".repeat(30) + "a, b\n".repeat(times) + "]".repeat(30)],
  ["pictures in pictures", (times) => "![".repeat(times) + "](b)".repeat(times)],
  ["links in brackets", (times) => "[".repeat(times) + "](b)".repeat(times)],
  ["emphasis", (times) => "*a ".repeat(times) + "a* ".repeat(times)],
  ["strong emphasis", (times) => "***a ".repeat(times) + "a** ".repeat(times)],
  ["emphasis, in paragraphs", (times) => `${"*a ".repeat(200)}${"a* ".repeat(200)}\n\n`.repeat(times)],
  ["emphasis and brackets", (times) => "[_\\".repeat(times)],
  ["long runs", (times) => `${"*".repeat(100)}a `.repeat(times) + `a${"*".repeat(100)} `.repeat(times)],
  ["code that does not end", (times) => "\\``".repeat(times)],
  ["addresses", (times) => "www._".repeat(times)],
  ["lines after a quote", (times) => `> a\n${"b\n".repeat(times)}`],
  ["items", (times) => "- a\n".repeat(times)],
  ["items of two lists", (times) => "- a\n+ b\n".repeat(times)],
  ["quotes", (times) => "> a\n\n".repeat(times)],
  ["quotes of nothing", (times) => ">\n\n".repeat(times)],
  ["headings", (times) => "a\n=\n".repeat(times)],
  ["rows of no table", (times) => "|a\n".repeat(times)],
  ["paragraphs", (times) => "a\n\n".repeat(times)],
  ["definitions", (times) => Array.from({ length: times }, (_, at) => `[${at.toString(36)}]: b\n`).join("")],
  ["links", (times) => "[a](b)".repeat(times)],
  ["some of all", (times) => "- > [a](b) ![c] *d* `e` www.f_ ~~g~~ <h>\n  i\n==\n\n".repeat(times)],
  ["all in one paragraph", (times) => "> [a ![c *d* `e` www.f_ ~~g ]\nh\n".repeat(times)],
];

/** Returns the longest text that is still parsed. */
function justInside(build: (times: number) => string): string {
  let [inside, beyond] = [1, 100_001];
  while (beyond - inside > 1) {
    const middle = Math.floor((inside + beyond) / 2);
    if (isCostly(build(middle))) beyond = middle;
    else inside = middle;
  }
  return build(inside);
}

describe("the longest parsed text", () => {
  const reader = unified().use(remarkParse).use(remarkGfm).use(remarkRehype);

  it.each(GROWING)("parses without blocking the page: %s", (_what, build) => {
    const text = justInside(build);
    const before = process.cpuUsage();
    reader.runSync(reader.parse(text));
    const { user, system } = process.cpuUsage(before);
    // CPU milliseconds: several times the expected cost, and a small part of the cost without limits.
    expect((user + system) / 1_000).toBeLessThan(6_000);
  });
});
