import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { evaluateExpression, ExpressionError } from "./expression.ts";

describe("evaluateExpression", () => {
  it.each([
    ["12 * 7", 84],
    ["2^10", 1024],
    ["2**10", 1024],
    ["(3+4)*2", 14],
    ["3+4*2", 11],
    ["10-4-3", 3],
    ["100/10/5", 2],
    ["-2^2", -4],
    ["(-2)^2", 4],
    ["2^-1", 0.5],
    ["2^3^2", 512],
    ["2*-3", -6],
    ["--3", 3],
    ["+3 - +4", -1],
    ["-7 % 3", -1],
    ["1.5e3 + .5", 1500.5],
    ["2E-2", 0.02],
    ["6 × 7 ÷ 2 − 1", 20],
    ["sqrt(16) + abs(-3)", 7],
    ["round(2.5) + round(-2.5)", 0],
    ["floor(-1.5) + ceil(-1.5)", -3],
    ["min(3, 1, 2) + max(3, 1, 2)", 4],
    ["ln(e) + log(1000)", 4],
    ["sin(0) + cos(0) + tan(0)", 1],
    ["PI", Math.PI],
  ])("computes %s", (text, value) => {
    expect(evaluateExpression(text)).toBeCloseTo(value, 12);
  });

  it.each([
    ["0.1 + 0.2", "0.3"],
    ["1.1 * 3", "3.3"],
    ["1/3", "0.333333333333333"],
    ["99999999 * 90000001", "9000000009999999"],
    ["0 * -1", "0"],
    ["2^1023 * 1.9999999999999998", "1.7976931348623157e+308"],
  ])("formats %s as %s", (text, printed) => {
    expect(String(evaluateExpression(text))).toBe(printed);
  });

  it.each([
    ["1/0", "Division by zero at position 2."],
    ["5 % (2-2)", "Division by zero at position 3."],
    ["0^-1", "Division by zero at position 2."],
    ["foo(2)", 'Unknown name "foo" at position 1. Known are sqrt, abs,'],
    ["1 + constructor", 'Unknown name "constructor" at position 5.'],
    ["sqrt(-1)", "No value at position 1: sqrt needs a number of at least 0, not -1."],
    ["ln(0)", "No value at position 1: ln needs a number above 0, not 0."],
    ["(-8)^(1/3)", "No real value at position 5."],
    ["9^9^9", "The value at position 2 is too large."],
    ["1e999", "The number at position 1 is too large."],
    ["sqrt 4", 'Expected "(" after sqrt at position 6.'],
    ["abs(1, 2)", "abs at position 1 takes one number, not 2."],
    ["max()", "max at position 1 takes at least one number, not 0."],
    ["((1)", 'The "(" at position 1 is not closed at the end.'],
    ["(1 2)", 'The "(" at position 1 is not closed at position 4.'],
    ["1)", "Expected an operator at position 2."],
    ["2pi", "Expected an operator at position 2."],
    ["1,000", "Expected an operator at position 2."],
    ["3 +", "Expected a number at the end."],
    ["* 3", "Expected a number at position 1."],
    ["process.exit()", 'Unexpected character "." at position 8.'],
    ["1; 2", 'Unexpected character ";" at position 2.'],
    ["😀", 'Unexpected character "😀" at position 1.'],
    ["   ", "The expression is empty."],
  ])("rejects %s with the reason", (text, message) => {
    const evaluate = (): number => evaluateExpression(text);
    expect(evaluate).toThrow(ExpressionError);
    expect(evaluate).toThrow(message);
  });

  it("rejects expressions that are too long or too deep, without overflowing the stack", () => {
    expect(evaluateExpression(`${"(".repeat(90)}1${")".repeat(90)}`)).toBe(1);
    expect(() => evaluateExpression(`${"(".repeat(499)}1${")".repeat(499)}`)).toThrow(
      "deeper than 100 levels",
    );
    expect(() => evaluateExpression("-".repeat(999) + 1)).toThrow("deeper than 100 levels");
    expect(() => evaluateExpression(`1${"^1".repeat(400)}`)).toThrow("deeper than 100 levels");
    expect(() => evaluateExpression(`1${"+1".repeat(500)}`)).toThrow("at most 1000 are allowed");
    expect(evaluateExpression(`1${"+1".repeat(499)}`)).toBe(500);
  });
});

// The oracle is independent of the parser: trees with a known value, printed with the minimum of parentheses.
type Tree =
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "minus"; readonly of: Tree }
  | { readonly kind: "call"; readonly name: "abs" | "sqrt" | "max"; readonly of: readonly Tree[] }
  | {
      readonly kind: "binary";
      readonly symbol: "+" | "-" | "*" | "/" | "%" | "^";
      readonly left: Tree;
      readonly right: Tree;
    };

const levels = { "+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 4 } as const;

/** Returns the precedence of a printed tree; numbers and calls have the highest. */
function levelOf(tree: Tree): number {
  return tree.kind === "binary" ? levels[tree.symbol] : tree.kind === "minus" ? 3 : 5;
}

function print(tree: Tree, space: string): string {
  const wrapped = (inner: Tree, level: number): string =>
    levelOf(inner) < level ? `(${print(inner, space)})` : print(inner, space);
  switch (tree.kind) {
    case "number":
      return tree.text;
    case "minus":
      return `-${space}${wrapped(tree.of, 3)}`;
    case "call":
      return `${tree.name}(${tree.of.map((inner) => print(inner, space)).join(`,${space}`)})`;
    case "binary": {
      const level = levels[tree.symbol];
      const right = tree.symbol === "^";
      const leftText = wrapped(tree.left, right ? level + 1 : level);
      const rightText = wrapped(tree.right, right ? 3 : level + 1);
      return `${leftText}${space}${tree.symbol}${space}${rightText}`;
    }
  }
}

/** Returns the value of a tree, which is not finite if any part of it is not. */
function valueOf(tree: Tree): number {
  switch (tree.kind) {
    case "number":
      return Number(tree.text);
    case "minus":
      return -valueOf(tree.of);
    case "call": {
      const values = tree.of.map(valueOf);
      if (values.some((value) => !Number.isFinite(value))) return Number.NaN;
      const first = values[0] ?? Number.NaN;
      return tree.name === "max"
        ? Math.max(...values)
        : tree.name === "abs"
          ? Math.abs(first)
          : Math.sqrt(first);
    }
    case "binary": {
      const [left, right] = [valueOf(tree.left), valueOf(tree.right)];
      if (!Number.isFinite(left) || !Number.isFinite(right)) return Number.NaN;
      if ((tree.symbol === "/" || tree.symbol === "%") && right === 0) return Number.NaN;
      const results = {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "/": left / right,
        "%": left % right,
        "^": left ** right,
      };
      return results[tree.symbol];
    }
  }
}

const trees = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc
      .oneof(fc.nat(1_000), fc.double({ min: 0, max: 1e6, noNaN: true }))
      .map((value): Tree => ({ kind: "number", text: String(value) })),
    fc.record({ kind: fc.constant("minus"), of: tie("tree") }),
    fc.record({ kind: fc.constant("call"), name: fc.constantFrom("abs", "sqrt"), of: fc.tuple(tie("tree")) }),
    fc.record({
      kind: fc.constant("call"),
      name: fc.constant("max"),
      of: fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant("binary"),
      symbol: fc.constantFrom("+", "-", "*", "/", "%", "^"),
      left: tie("tree"),
      right: tie("tree"),
    }),
  ),
})).tree;

describe("evaluateExpression on generated input", () => {
  it("returns the value of the tree that the expression was printed from", () => {
    fc.assert(
      fc.property(trees, fc.constantFrom("", " ", "\n\t"), (tree, space) => {
        const text = print(tree, space);
        fc.pre(text.length <= 1_000);
        const value = valueOf(tree);
        if (!Number.isFinite(value)) {
          expect(() => evaluateExpression(text)).toThrow(ExpressionError);
          return;
        }
        const tolerance = Math.abs(value) * 1e-14;
        expect(Math.abs(evaluateExpression(text) - value)).toBeLessThanOrEqual(tolerance);
      }),
      { numRuns: 2_000 },
    );
  });

  it("returns a finite value or throws an ExpressionError for any text", () => {
    const words = fc.constantFrom(
      "(",
      ")",
      "-",
      "^",
      "*",
      "/",
      "%",
      ",",
      " ",
      ".",
      "1",
      "9e99",
      "pi",
      "e",
      "sqrt",
      "max",
      "__proto__",
      "\0",
      "\ud800",
    );
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(words, { maxLength: 300 }).map((list) => list.join("")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          expect(Number.isFinite(evaluateExpression(text))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
