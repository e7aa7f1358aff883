import fc from "fast-check";
import { expect, it } from "vitest";
import { formatPath } from "../config/problem.ts";
import { scanJson } from "./json-scan.ts";

const scan = (text: string, repeatedNames = Number.POSITIVE_INFINITY) =>
  scanJson(text, { depth: 32, values: Infinity, repeatedNames });

const found = (text: string) =>
  scan(text).repeatedNames.map(({ path, first, again }) => `${formatPath(path)}: ${first}; ${again}`);

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
])("reports duplicate names in %s", (text, names) => {
  JSON.parse(text);
  expect(found(text)).toEqual(names);
});

/** Counts the characters that are read. */
class CountedText {
  reads = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get length(): number {
    return this.#text.length;
  }

  charCodeAt(index: number): number {
    this.reads += 1;
    return this.#text.charCodeAt(index);
  }

  indexOf(sought: string, from: number): number {
    const found = this.#text.indexOf(sought, from);
    this.reads += (found < 0 ? this.#text.length : found) - from;
    return found;
  }

  startsWith(sought: string, from: number): boolean {
    this.reads += sought.length;
    return this.#text.startsWith(sought, from);
  }

  slice(start: number, end: number): string {
    this.reads += end - start;
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
])("reads each character at most a few times for many %s", (unit) => {
  const text = `[${unit.repeat(2000)}0]`;
  JSON.parse(text);
  const counted = new CountedText(text);
  expect(scan(counted as unknown as string).repeatedNames).toEqual([]);
  expect(counted.reads).toBeGreaterThan(text.length / 2);
  expect(counted.reads).toBeLessThan(4 * text.length);
});

it("finds a duplicate name among many, and reports at most the limit", () => {
  const names = Array.from({ length: 40 }, (_empty, index) => `"k${index}":${index}`);
  const text = `{${names.join()},"k3":1}`;
  const [first, again] = [text.indexOf('"k3"') + 1, text.lastIndexOf('"k3"') + 1];
  expect(found(text)).toEqual([`k3: line 1, column ${first}; line 1, column ${again}`]);
  expect(scan('{"a":1,"a":2,"a":3}', 1).repeatedNames).toHaveLength(1);
});

it("finds the end of a string with quotes and backslashes at any position", () => {
  const letters = fc.constantFrom("a", '"', "\\", "a".repeat(40));
  fc.assert(
    fc.property(fc.string({ unit: letters, maxLength: 60 }), fc.string({ unit: letters }), (text, name) => {
      fc.pre(name !== "b");
      const [value, key] = [JSON.stringify(text), JSON.stringify(name)];
      expect(scan(`{${key}:${value},"b":${value}}`).repeatedNames).toEqual([]);
      expect(scan(`{${key}:${value},"b":${value},${key}:1}`).repeatedNames).toMatchObject([{ path: [name] }]);
    }),
  );
});

/** Integers around each power of two and of ten, and any others of up to 24 digits. */
const integers = fc.oneof(
  fc
    .tuple(fc.constantFrom(2n, 10n), fc.bigInt(0n, 80n), fc.bigInt(-40n, 40n))
    .map(([base, exponent, more]) => {
      return base ** (base === 2n ? exponent : exponent / 4n) + more;
    }),
  fc.bigInt(-(10n ** 24n), 10n ** 24n),
);

it("reports exactly the integers that would be rounded", () => {
  fc.assert(
    fc.property(integers, (integer) => {
      const digits = String(integer);
      const read = Number(digits);
      const isKept = Math.abs(read) < 1e21 ? String(read) === digits : BigInt(read) === integer;
      const change = isKept ? null : { digits, change: "rounded" };
      expect(scan(`{"a":[${digits}]}`).changedNumber).toEqual(change);
      expect(scan(digits).changedNumber).toEqual(change);
    }),
    { numRuns: 2000 },
  );
});

it("reports exactly the numbers beyond the range of a double", () => {
  const parts = fc.record({
    whole: fc.oneof(
      fc.constant("0"),
      fc.integer({ min: 1, max: 320 }).map((length) => "1".repeat(length)),
    ),
    fraction: fc.constantFrom("", ".0", ".25"),
    exponent: fc.oneof(
      fc.constant(""),
      fc
        .tuple(fc.constantFrom("e", "E", "e+", "e-"), fc.integer({ min: 0, max: 330 }))
        .map((both) => both.join("")),
    ),
  });
  fc.assert(
    fc.property(parts, fc.constantFrom("", "-"), ({ whole, fraction, exponent }, sign) => {
      fc.pre(fraction !== "" || exponent !== "");
      const digits = sign + whole + fraction + exponent;
      const change = Number.isFinite(Number(digits)) ? null : { digits, change: "infinite" };
      expect(scan(`[${digits},1]`).changedNumber).toEqual(change);
    }),
    { numRuns: 1000 },
  );
});
