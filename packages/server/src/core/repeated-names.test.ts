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
