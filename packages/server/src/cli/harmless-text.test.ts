import { describe, expect, it } from "vitest";
import { harmlessJson, harmlessLine, harmlessText } from "./harmless-text.ts";

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
