import { expect, it } from "vitest";
import { locateJsonError } from "./read-file.ts";

function located(text: string): string {
  try {
    JSON.parse(text);
    return "sound";
  } catch (error) {
    const { line, column, message } = locateJsonError(text, error);
    return `${line}:${column} ${message}`;
  }
}

it.each([
  ['{\n  "a": x\n}', "2:8 Unexpected token 'x'"],
  ['{\n  "a": tr\n}', "2:10 Unexpected token '\\n'"],
  ["// no\n{}", "1:1 Unexpected token '/'"],
  ["x", "1:1 Unexpected token 'x'"],
  ['{\n  "a": 1,\n}', "3:1 Expected double-quoted property name"],
  ['{ "a": 1', "1:9 Expected ',' or '}' after property value"],
  ['{ "a": [', "1:9 Unexpected end of the file"],
  ["", "1:1 Unexpected end of the file"],
  ['{\n"a": "sk-1234', "2:14 Unterminated string"],
  ["{}\n{}", "2:1 Unexpected non-whitespace character after JSON"],
])("locates the error in %j", (text, found) => {
  expect(located(text)).toBe(found);
});

it("does not quote a key near the error", () => {
  expect(located('{ "key": "sk-1234", oops }')).not.toContain("sk-1234");
  expect(located('["sk-1234", oops ]')).toBe("1:13 Unexpected token 'o'");
});
