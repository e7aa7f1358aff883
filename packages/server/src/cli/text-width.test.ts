import { expect, it } from "vitest";
import { truncateToWidth, textWidth } from "./text-width.ts";

it.each([
  ["", 0],
  ["abc", 3],
  ["漢字", 4],
  ["かな カナ", 9],
  ["한국", 4],
  ["！", 2],
  // A letter with a combining accent.
  ["e\u0301", 1],
  ["👍🏽", 2],
  // A family of four, joined by zero-width joiners.
  ["👨‍👩‍👧‍👦", 2],
  ["🇩🇪", 2],
  // A symbol that becomes an emoji through a variation selector.
  ["☎", 1],
  ["☎\uFE0F", 2],
  ["a\u200Bb\u200E", 2],
])("measures %j as %i columns", (text, columns) => {
  expect(textWidth(text)).toBe(columns);
});

it("does not truncate text that fits exactly", () => {
  expect(truncateToWidth("abcde", 5)).toBe("abcde");
  expect(truncateToWidth("漢字", 4)).toBe("漢字");
  expect(truncateToWidth("", 0)).toBe("");
});

it("truncates with an ellipsis within the columns, without splitting graphemes", () => {
  expect(truncateToWidth("abcdef", 5)).toBe("abcd…");
  expect(truncateToWidth("漢字漢字", 6)).toBe("漢字…");
  expect(truncateToWidth("漢字漢字", 5)).toBe("漢字…");
  expect(truncateToWidth("ab👨‍👩‍👧‍👦cd", 4)).toBe("ab…");
  expect(truncateToWidth("ab cd", 4)).toBe("ab…");
  expect(truncateToWidth("abc", 1)).toBe("…");
  expect(truncateToWidth("abc", 0)).toBe("");
  expect(truncateToWidth("abc", -3)).toBe("");
});
