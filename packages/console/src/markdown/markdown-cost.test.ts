import { expect, it } from "vitest";
import { DEEP_TEXTS } from "../../test/chromium/hostile-texts.ts";
import { isCostly } from "./markdown-cost.ts";

it.each(DEEP_TEXTS.map((text) => [text.slice(0, 20), text.length, text] as const))(
  "%j and on, %d characters, is not read",
  (_begin, _length, text) => {
    expect(isCostly(text)).toBe(true);
  },
);

it.each([
  ["a list in lists", Array.from({ length: 12 }, (_, depth) => `${"  ".repeat(depth)}- item`).join("\n")],
  ["a quote of quotes", "> > > > once\n> > > twice\n".repeat(20)],
  ["lines across the page", `${"-".repeat(300)}\n\n${"* ".repeat(90)}\n\n${"_".repeat(120)}`],
  ["a long answer with emphasis", "The *quick* brown **fox** jumps over_the lazy `dog_s`.\n\n".repeat(1_000)],
  ["a program", "```python\n" + "    self.one_of_them = two_of_them * 3\n".repeat(300) + "```"],
  ["a table", `|${"a|".repeat(20)}\n|${"-|".repeat(20)}\n${`|${"*x*|".repeat(20)}\n`.repeat(30)}`],
  ["a number that is no list", "1234567890. and 5) and 3.14 - 2 > 1"],
])("%s is read", (_what, text) => {
  expect(isCostly(text)).toBe(false);
});
