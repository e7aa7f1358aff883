import { describe, expect, it } from "vitest";
import { harmlessJson, harmlessLine, harmlessText, textWidth, truncateToWidth } from "./terminal-text.ts";

/** Every C0 and C1 control except line feed and tab, DEL, and characters that change the text direction. */
const OBEYED = [
  ...Array.from({ length: 0x20 }, (_, code) => code).filter((code) => code !== 0x09 && code !== 0x0a),
  ...Array.from({ length: 0x21 }, (_, index) => 0x7f + index),
  0x202a,
  0x202b,
  0x202c,
  0x202d,
  0x202e,
  0x2066,
  0x2067,
  0x2068,
  0x2069,
].map((code) => String.fromCharCode(code));

describe("harmlessText", () => {
  it("keeps line breaks and replaces control characters by symbols", () => {
    expect(harmlessText("one\r\ntwo\u2028three\tfour")).toBe("one\ntwo\nthree\tfour");
    expect(harmlessText("\u001B]0;x\u0007 \u007F \u009B \u202E")).toBe("␛]0;x␇ ␡ \uFFFD \uFFFD");
    for (const character of OBEYED) expect(harmlessText(`a${character}b`)).not.toContain(character);
    expect(harmlessText("half \uD83D of a pair")).toBe("half \uFFFD of a pair");
  });

  it("collapses white space with harmlessLine", () => {
    expect(harmlessLine(" one\n\ntwo\u00A0 \u001B[2J ")).toBe("one two ␛[2J");
  });
});

describe("harmlessJson", () => {
  it("escapes control characters, on one line or several", () => {
    const value = { of: OBEYED.join(" "), more: ["漢字 👩‍💻", "\n\t"] };
    for (const indentation of [0, 2]) {
      const text = harmlessJson(value, indentation);
      for (const character of OBEYED) expect(text).not.toContain(character);
      expect(JSON.parse(text)).toEqual(value);
    }
    expect(harmlessJson({ a: "👩‍💻\u009B" }, 2)).toBe('{\n  "a": "👩‍💻\\u009b"\n}');
  });
});

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
