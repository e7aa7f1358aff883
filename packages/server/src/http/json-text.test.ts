import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JSON_MAX_DEPTH, JSON_MAX_VALUES, parseJson, parseJsonBytes } from "./json-text.ts";

describe("JSON text", () => {
  it("is parsed as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8, stringUnit: "grapheme" }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes(String.raw`\u0000`));
        expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it.each([
    ["", "json_invalid"],
    ["{", "json_invalid"],
    ["{'a':1}", "json_invalid"],
    ["[1,]", "json_invalid"],
    ["NaN", "json_invalid"],
    ["1e999", "json_invalid"],
    ['{"a":[-1e999]}', "json_invalid"],
    ["9007199254740993", "json_invalid"],
    ["83003630348829144", "json_invalid"],
    ['{"a":[-12345678901234567890]}', "json_invalid"],
    [`[1${"0".repeat(307)}1]`, "json_invalid"],
    ['{"a":1,"b":{"a":1,"\\u0061":2}}', "json_invalid"],
    ['"\u0001"', "json_invalid"],
    [String.raw`"\u0000"`, "text_invalid"],
    [String.raw`{"a\u0000":1}`, "text_invalid"],
    [String.raw`"\ud800"`, "text_invalid"],
    [String.raw`"\udc00\ud800"`, "text_invalid"],
    [String.raw`[{"\ud83d":1}]`, "text_invalid"],
    ["[".repeat(JSON_MAX_DEPTH + 1) + "]".repeat(JSON_MAX_DEPTH + 1), "json_too_deep"],
    ["[".repeat(100_000), "json_too_deep"],
    ['{"a":'.repeat(50_000), "json_too_deep"],
  ])("rejects %j: %s", (text, code) => {
    expect(parseJson(text)).toMatchObject({ ok: false, code });
  });

  it("has at most 50,000 values, of which arrays and objects count twice", () => {
    const most = JSON_MAX_VALUES - 1;
    const withText = (text: string) => parseJson(`["${",[{".repeat(most)}",${text}0]`);
    expect(withText("0,".repeat(most - 1)).ok).toBe(true);
    expect(withText("{},".repeat(most / 2 - 1)).ok).toBe(true);
    const beyond = { ok: false, code: "json_invalid", problem: "must not hold more than 50000 values" };
    expect(withText("0,".repeat(most))).toEqual(beyond);
    expect(withText("{},".repeat(JSON_MAX_VALUES / 2))).toEqual(beyond);
  });

  it("reports a number that would be rounded and a duplicate name", () => {
    expect(parseJson('{"id":12345678901234567}')).toMatchObject({
      problem: "must not hold the number 12345678901234567, which would be rounded: send it as text",
    });
    expect(parseJson('{"id":1,"id":2}')).toMatchObject({ problem: 'must not hold "id" twice in one object' });
  });

  it.each([
    "9007199254740992",
    "83003630348829140",
    `1${"0".repeat(22)}`,
    "-10000000000000000000",
    '"12345678901234567"',
    String.raw`["\\", "12345678901234567", "\"12345678901234567\""]`,
    "1.2345678901234567890123",
    "12345678901234567.5",
    "12345678901234567e2",
    '{"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":1}]}',
  ])("accepts %s", (text) => {
    expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
  });

  it("may nest 32 levels, and contain brackets and quotes in strings", () => {
    const deep = "[".repeat(JSON_MAX_DEPTH) + "]".repeat(JSON_MAX_DEPTH);
    expect(parseJson(deep).ok).toBe(true);
    const brackets = JSON.stringify('"[[[{{{\\'.repeat(20));
    expect(parseJson(brackets)).toEqual({ ok: true, value: '"[[[{{{\\'.repeat(20) });
  });

  it("may contain characters beyond the basic plane, and the key __proto__", () => {
    expect(parseJson(String.raw`"\ud83d\ude00"`)).toEqual({ ok: true, value: "😀" });
    const parsed = parseJson('{"__proto__":{"a":1}}');
    expect(parsed.ok && Object.keys(parsed.value as object)).toEqual(["__proto__"]);
  });

  it("must be UTF-8, with or without a byte order mark", () => {
    expect(parseJsonBytes(Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({
      ok: false,
      code: "text_invalid",
    });
    expect(parseJsonBytes(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toMatchObject({ ok: false });
    expect(parseJsonBytes(Buffer.from('\uFEFF{"a":1}'))).toEqual({ ok: true, value: { a: 1 } });
  });
});
