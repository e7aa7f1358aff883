import { describe, expect, it } from "vitest";
import { harmlessJson, harmlessLine, harmlessText, visibleJson } from "./harmless-text.ts";

/** What terminals obey: every C0 and C1 control but line feed and tab, DEL, and what turns the direction of text. */
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

describe("a text", () => {
  it("keeps its lines, and has a sign in place of whatever a terminal obeys", () => {
    expect(harmlessText("one\r\ntwo\u2028three\tfour")).toBe("one\ntwo\nthree\tfour");
    expect(harmlessText("\u001B]0;x\u0007 \u007F \u009B \u202E")).toBe("␛]0;x␇ ␡ \uFFFD \uFFFD");
    for (const character of OBEYED) expect(harmlessText(`a${character}b`)).not.toContain(character);
    expect(harmlessText("half \uD83D of a pair")).toBe("half \uFFFD of a pair");
  });

  it("as one line has single spaces", () => {
    expect(harmlessLine(" one\n\ntwo\u00A0 \u001B[2J ")).toBe("one two ␛[2J");
  });
});

describe("JSON", () => {
  it("says the same without a character that a terminal obeys, on one line or on several", () => {
    const value = { of: OBEYED.join(" "), more: ["漢字 👩‍💻", "\n\t"] };
    for (const indentation of [0, 2]) {
      const text = harmlessJson(value, indentation);
      for (const character of OBEYED) expect(text).not.toContain(character);
      expect(JSON.parse(text)).toEqual(value);
    }
    expect(harmlessJson({ a: "👩‍💻\u009B" }, 2)).toBe('{\n  "a": "👩‍💻\\u009b"\n}');
  });

  it.each([
    ["a zero width space", "\u200B"],
    ["a zero width joiner", "\u200D"],
    ["a soft hyphen", "\u00AD"],
    ["a mark of direction", "\u202E"],
    ["a line separator", "\u2028"],
    ["a control", "\u009B"],
    ["a tag", "\u{E0041}"],
    ["a sign of private use", "\uE000"],
    ["a sign that nobody has defined", "\u0378"],
    ["a filler of Hangul", "\u3164"],
    ["a filler of Hangul's first consonants", "\u115F"],
    ["a filler of half width", "\uFFA0"],
    ["a joiner of graphemes", "\u034F"],
    ["a selector of variations", "\uFE0F"],
    ["another selector of variations", "\u{E0101}"],
    ["an empty pattern of Braille", "\u2800"],
    ["a space that does not break", "\u00A0"],
    ["a space as wide as a sign", "\u3000"],
    ["a thin space", "\u2009"],
  ])("that is to be approved shows %s as its number", (_, character) => {
    const shown = visibleJson({ of: `a${character}b` });
    expect(shown).toMatch(/^\{"of":"a(?:\\u[0-9a-f]{4})+b"\}$/);
    expect(JSON.parse(shown)).toEqual({ of: `a${character}b` });
  });

  it("that is to be approved shows what can be seen as it is", () => {
    expect(visibleJson({ an: "añ漢字 – “b” 1 €" })).toBe('{"an":"añ漢字 – “b” 1 €"}');
  });
});
