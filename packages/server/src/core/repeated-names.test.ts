import { expect, it } from "vitest";
import { formatPath } from "../config/problem.ts";
import { findRepeatedNames } from "./repeated-names.ts";

const found = (text: string) =>
  findRepeatedNames(text).map(({ path, first, again }) => `${formatPath(path)}: ${first}; ${again}`);

it.each([
  ["1", []],
  ['"a: {"', []],
  ["{}", []],
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}', []],
  ['{"a":"a","b":"a"}', []],
  ['{"a":"\\",\\"a\\":","b":1}', []],
  [
    '[{"a":1,"a":2},{"a":1,"a":2}]',
    ["[0].a: line 1, column 3; line 1, column 9", "[1].a: line 1, column 17; line 1, column 23"],
  ],
  ['[{"a":1,"b":2},{"a":1,"b":2,"a":3}]', ["[1].a: line 1, column 17; line 1, column 29"]],
  ['[{"a":1,"b":2},{"a":1},{"b":1,"a":2},{"c":1,"a":2}]', []],
  [String.raw`[{"a\\b":1},{"a\\b":1,"a\b":2}]`, []],
  ['{"a":1,"a":2}', ["a: line 1, column 2; line 1, column 8"]],
  ['{"a":1,\n "\\u0061"\n:2}', ["a: line 1, column 2; line 2, column 2"]],
  ['{"x":[[1,2],{"y":{"a":[],"b":{},\r\n"a":{}}}]}', ["x[1].y.a: line 1, column 19; line 2, column 1"]],
  [
    '{"a":1,"a":{"b":1,"b":2},"a":3}',
    [
      "a: line 1, column 2; line 1, column 8",
      "a.b: line 1, column 13; line 1, column 19",
      "a: line 1, column 2; line 1, column 26",
    ],
  ],
])("names that stand again in %s", (text, names) => {
  JSON.parse(text);
  expect(found(text)).toEqual(names);
});

/** Counts the characters that are looked at. */
class CountedText {
  looks = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get length(): number {
    return this.#text.length;
  }

  charCodeAt(index: number): number {
    this.looks += 1;
    return this.#text.charCodeAt(index);
  }

  indexOf(sought: string, from: number): number {
    const found = this.#text.indexOf(sought, from);
    this.looks += (found < 0 ? this.#text.length : found) - from;
    return found;
  }

  startsWith(sought: string, from: number): boolean {
    this.looks += sought.length;
    return this.#text.startsWith(sought, from);
  }

  slice(start: number, end: number): string {
    this.looks += end - start;
    return this.#text.slice(start, end);
  }
}

it.each([
  "{},",
  "[],",
  '"",',
  '{"a":1},',
  '{"a":1,"b":{"a":[1]}},',
  '{"a"    :1},',
  String.raw`"\\\\",`,
  String.raw`{"\"\u0061":1},`,
])("looks at each character of many %s a few times", (unit) => {
  const text = `[${unit.repeat(2000)}0]`;
  JSON.parse(text);
  const counted = new CountedText(text);
  expect(findRepeatedNames(counted as unknown as string)).toEqual([]);
  expect(counted.looks).toBeGreaterThan(text.length / 2);
  expect(counted.looks).toBeLessThan(4 * text.length);
});

it("finds a name again among many, and stops at the limit", () => {
  const names = Array.from({ length: 40 }, (_empty, index) => `"k${index}":${index}`);
  const text = `{${names.join()},"k3":1}`;
  const [first, again] = [text.indexOf('"k3"') + 1, text.lastIndexOf('"k3"') + 1];
  expect(found(text)).toEqual([`k3: line 1, column ${first}; line 1, column ${again}`]);
  expect(findRepeatedNames('{"a":1,"a":2,"a":3}', 1)).toHaveLength(1);
});
