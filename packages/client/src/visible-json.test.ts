import { describe, expect, it } from "vitest";
import { visibleJson } from "./visible-json.ts";

describe("visibleJson", () => {
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
  ])("escapes %s", (_, character) => {
    const shown = visibleJson({ of: `a${character}b` });
    expect(shown).toMatch(/^\{"of":"a(?:\\u[0-9a-f]{4})+b"\}$/);
    expect(JSON.parse(shown)).toEqual({ of: `a${character}b` });
    expect(JSON.parse(visibleJson({ [character]: 1 }, 2))).toEqual({ [character]: 1 });
    expect(visibleJson({ [character]: 1 }, 2)).not.toContain(character);
  });

  it("keeps visible characters", () => {
    expect(visibleJson({ an: "añ漢字 – “b” 1 €" })).toBe('{"an":"añ漢字 – “b” 1 €"}');
  });

  it("breaks lines between values, never within a string", () => {
    expect(visibleJson({ a: ["b\n\u2028c"] }, 2)).toBe('{\n  "a": [\n    "b\\n\\u2028c"\n  ]\n}');
  });
});
