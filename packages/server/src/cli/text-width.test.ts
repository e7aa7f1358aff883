import { expect, it } from "vitest";
import { fitted, textWidth } from "./text-width.ts";

it.each([
  ["", 0],
  ["abc", 3],
  ["漢字", 4],
  ["かな カナ", 9],
  ["한국", 4],
  ["！", 2],
  // One letter with its accent in two characters.
  ["e\u0301", 1],
  ["👍🏽", 2],
  // A family of four, joined by zero-width joiners.
  ["👨‍👩‍👧‍👦", 2],
  ["🇩🇪", 2],
  // A sign that only its selector makes an emoji.
  ["☎", 1],
  ["☎\uFE0F", 2],
  ["a\u200Bb\u200E", 2],
])("%j takes %i columns", (text, columns) => {
  expect(textWidth(text)).toBe(columns);
});

it("leaves alone what fits, to the last column", () => {
  expect(fitted("abcde", 5)).toBe("abcde");
  expect(fitted("漢字", 4)).toBe("漢字");
  expect(fitted("", 0)).toBe("");
});

it("cuts off what does not fit, with its ellipsis inside the columns, and halves nothing", () => {
  expect(fitted("abcdef", 5)).toBe("abcd…");
  expect(fitted("漢字漢字", 6)).toBe("漢字…");
  expect(fitted("漢字漢字", 5)).toBe("漢字…");
  expect(fitted("ab👨‍👩‍👧‍👦cd", 4)).toBe("ab…");
  expect(fitted("ab cd", 4)).toBe("ab…");
  expect(fitted("abc", 1)).toBe("…");
  expect(fitted("abc", 0)).toBe("");
  expect(fitted("abc", -3)).toBe("");
});
