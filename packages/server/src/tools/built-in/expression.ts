// A precedence-climbing (Pratt) parser that evaluates arithmetic written by a model. Own code: the small
// libraries are unmaintained or only parse, the maintained ones weigh megabytes, and nothing here may
// evaluate code.

/** An invalid expression. The message names the position, counted in characters from 1. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

type Punctuation = "+" | "-" | "*" | "/" | "%" | "^" | "(" | ")" | ",";

type Token =
  | { readonly kind: "number"; readonly value: number; readonly position: number }
  | { readonly kind: "name"; readonly name: string; readonly position: number }
  | { readonly kind: "symbol"; readonly symbol: Punctuation; readonly position: number }
  | { readonly kind: "end"; readonly position: number };

const numberPattern = /(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/iy;
const namePattern = /[a-z_][a-z0-9_]*/iy;
const spacePattern = /\s+/y;

/** Spellings of operators; a longer spelling precedes its own prefix. */
const spellings: ReadonlyArray<readonly [string, Punctuation]> = [
  ["**", "^"],
  ["+", "+"],
  ["-", "-"],
  ["−", "-"],
  ["*", "*"],
  ["×", "*"],
  ["·", "*"],
  ["/", "/"],
  ["÷", "/"],
  ["%", "%"],
  ["^", "^"],
  ["(", "("],
  [")", ")"],
  [",", ","],
];

/**
 * Splits an expression into tokens, of which the last is `end`.
 *
 * @throws ExpressionError for an unknown character, and for a number that exceeds a double.
 */
function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let index = 0;
  while (index < text.length) {
    const space = matchAt(spacePattern, text, index);
    if (space !== undefined) {
      index += space.length;
      continue;
    }
    const [token, length] = readToken(text, index);
    tokens.push(token);
    index += length;
  }
  tokens.push({ kind: "end", position: text.length + 1 });
  return tokens;
}

function readToken(text: string, index: number): readonly [token: Token, length: number] {
  const position = index + 1;
  const digits = matchAt(numberPattern, text, index);
  if (digits !== undefined) {
    const value = Number(digits);
    if (!Number.isFinite(value))
      throw new ExpressionError(`The number at position ${position} is too large.`);
    return [{ kind: "number", value, position }, digits.length];
  }
  const name = matchAt(namePattern, text, index);
  if (name !== undefined) return [{ kind: "name", name, position }, name.length];
  for (const [spelling, symbol] of spellings) {
    if (text.startsWith(spelling, index)) return [{ kind: "symbol", symbol, position }, spelling.length];
  }
  const character = String.fromCodePoint(text.codePointAt(index) ?? 0);
  throw new ExpressionError(`Unexpected character "${character}" at position ${position}.`);
}

function matchAt(pattern: RegExp, text: string, index: number): string | undefined {
  pattern.lastIndex = index;
  return pattern.exec(text)?.[0];
}

/** Maximum length of an expression in characters. */
export const maximumExpressionLength = 1_000;
const maximumDepth = 100;

interface Operator {
  readonly precedence: number;
  readonly rightAssociative: boolean;
}

/** Between `*` and `^`, so that `-2^2` is -4 as in mathematics. */
const signPrecedence = 3;
const operators: ReadonlyMap<Punctuation, Operator> = new Map([
  ["+", { precedence: 1, rightAssociative: false }],
  ["-", { precedence: 1, rightAssociative: false }],
  ["*", { precedence: 2, rightAssociative: false }],
  ["/", { precedence: 2, rightAssociative: false }],
  ["%", { precedence: 2, rightAssociative: false }],
  ["^", { precedence: 4, rightAssociative: true }],
]);

/**
 * Returns the value of an arithmetic expression: decimals and scientific notation, `+ - * / % ^`,
 * parentheses, and the functions and constants below. `%` is the remainder with the sign
 * of its left operand. Integers up to 2^53 are exact; other results are rounded to 15 significant digits, so
 * that `0.1 + 0.2` is 0.3.
 *
 * @throws ExpressionError naming the problem and its position: a syntax error, no real or no finite value,
 *   more than 1,000 characters or more than 100 levels.
 */
export function evaluateExpression(text: string): number {
  if (text.length > maximumExpressionLength) {
    throw new ExpressionError(
      `The expression has ${text.length} characters; at most ${maximumExpressionLength} are allowed.`,
    );
  }
  const reader = new ExpressionReader(tokenize(text));
  return roundToReadable(reader.readAll());
}

function roundToReadable(value: number): number {
  const rounded = Number.isSafeInteger(value) ? value : Number(value.toPrecision(15));
  if (!Number.isFinite(rounded)) return value; // the largest doubles round up to Infinity
  return rounded === 0 ? 0 : rounded; // never -0
}

/** Parses one expression; holds the current position in its tokens. */
class ExpressionReader {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  readAll(): number {
    if (this.#peek().kind === "end") throw new ExpressionError("The expression is empty.");
    const value = this.#readExpression(0);
    const rest = this.#peek();
    if (rest.kind !== "end") throw new ExpressionError(`Expected an operator ${place(rest)}.`);
    return value;
  }

  /** Reads operands, and the operators between them with a precedence above `loosest`. */
  #readExpression(loosest: number): number {
    this.#depth += 1;
    if (this.#depth > maximumDepth) {
      throw new ExpressionError(`The expression is nested deeper than ${maximumDepth} levels.`);
    }
    let left = this.#readOperand();
    for (;;) {
      const token = this.#peek();
      const operator = token.kind === "symbol" ? operators.get(token.symbol) : undefined;
      if (token.kind !== "symbol" || operator === undefined || operator.precedence <= loosest) break;
      this.#next += 1;
      const right = this.#readExpression(operator.precedence - (operator.rightAssociative ? 1 : 0));
      left = compute(token.symbol, left, right, token.position);
    }
    this.#depth -= 1;
    return left;
  }

  #readOperand(): number {
    const token = this.#take();
    switch (token.kind) {
      case "number":
        return token.value;
      case "name":
        return this.#readNamed(token.name, token.position);
      case "symbol": {
        if (token.symbol === "-") return -this.#readExpression(signPrecedence);
        if (token.symbol === "+") return this.#readExpression(signPrecedence);
        if (token.symbol !== "(") break;
        const value = this.#readExpression(0);
        this.#expectClosing(token.position);
        return value;
      }
      case "end":
        break;
    }
    throw new ExpressionError(`Expected a number ${place(token)}.`);
  }

  #readNamed(name: string, position: number): number {
    const lowerCase = name.toLowerCase();
    const constant = expressionConstants.get(lowerCase);
    if (constant !== undefined) return constant;
    const called = expressionFunctions.get(lowerCase);
    if (called === undefined) {
      const known = [...expressionFunctions.keys(), ...expressionConstants.keys()].join(", ");
      throw new ExpressionError(`Unknown name "${name}" at position ${position}. Known are ${known}.`);
    }
    const opening = this.#take();
    if (opening.kind !== "symbol" || opening.symbol !== "(") {
      throw new ExpressionError(`Expected "(" after ${name} ${place(opening)}.`);
    }
    const numbers = this.#readArguments(opening.position);
    if (numbers.length < called.leastArguments || numbers.length > called.mostArguments) {
      const wanted = called.mostArguments === 1 ? "one number" : "at least one number";
      throw new ExpressionError(`${name} at position ${position} takes ${wanted}, not ${numbers.length}.`);
    }
    const value = called.apply(numbers);
    if (typeof value === "string") throw new ExpressionError(`No value at position ${position}: ${value}.`);
    return finite(value, position);
  }

  #readArguments(openingPosition: number): readonly number[] {
    const numbers: number[] = [];
    if (!this.#at(")")) {
      numbers.push(this.#readExpression(0));
      while (this.#at(",")) {
        this.#next += 1;
        numbers.push(this.#readExpression(0));
      }
    }
    this.#expectClosing(openingPosition);
    return numbers;
  }

  #expectClosing(openingPosition: number): void {
    const token = this.#take();
    if (token.kind === "symbol" && token.symbol === ")") return;
    throw new ExpressionError(`The "(" at position ${openingPosition} is not closed ${place(token)}.`);
  }

  #at(symbol: Punctuation): boolean {
    const token = this.#peek();
    return token.kind === "symbol" && token.symbol === symbol;
  }

  #peek(): Token {
    const token = this.#tokens[this.#next];
    if (token === undefined) throw new ExpressionError("The expression ends too early.");
    return token;
  }

  #take(): Token {
    const token = this.#peek();
    if (token.kind !== "end") this.#next += 1;
    return token;
  }
}

function compute(symbol: Punctuation, left: number, right: number, position: number): number {
  if ((symbol === "/" || symbol === "%") && right === 0) {
    throw new ExpressionError(`Division by zero at position ${position}.`);
  }
  switch (symbol) {
    case "+":
      return finite(left + right, position);
    case "-":
      return finite(left - right, position);
    case "*":
      return finite(left * right, position);
    case "/":
      return finite(left / right, position);
    case "%":
      return finite(left % right, position);
    case "^":
      if (left === 0 && right < 0) throw new ExpressionError(`Division by zero at position ${position}.`);
      return finite(left ** right, position);
    default:
      throw new ExpressionError(`"${symbol}" at position ${position} is not an operator.`);
  }
}

function finite(value: number, position: number): number {
  if (Number.isNaN(value)) throw new ExpressionError(`No real value at position ${position}.`);
  if (!Number.isFinite(value)) throw new ExpressionError(`The value at position ${position} is too large.`);
  return value;
}

function place(token: Token): string {
  return token.kind === "end" ? "at the end" : `at position ${token.position}`;
}

/** A function of an expression. `apply` returns an error message if the function has no value. */
interface ExpressionFunction {
  readonly leastArguments: number;
  readonly mostArguments: number;
  apply(numbers: readonly number[]): number | string;
}

function unary(compute: (x: number) => number | string): ExpressionFunction {
  return { leastArguments: 1, mostArguments: 1, apply: ([x = Number.NaN]) => compute(x) };
}

function logarithm(name: string, compute: (x: number) => number): ExpressionFunction {
  return unary((x) => (x > 0 ? compute(x) : `${name} needs a number above 0, not ${x}`));
}

/**
 * Angles are in radians; `ln` is the natural logarithm, `log` the one of base 10; `round` rounds halves away
 * from zero.
 */
const expressionFunctions: ReadonlyMap<string, ExpressionFunction> = new Map([
  ["sqrt", unary((x) => (x >= 0 ? Math.sqrt(x) : `sqrt needs a number of at least 0, not ${x}`))],
  ["abs", unary(Math.abs)],
  ["round", unary((x) => Math.sign(x) * Math.round(Math.abs(x)))],
  ["floor", unary(Math.floor)],
  ["ceil", unary(Math.ceil)],
  ["min", { leastArguments: 1, mostArguments: Number.POSITIVE_INFINITY, apply: (x) => Math.min(...x) }],
  ["max", { leastArguments: 1, mostArguments: Number.POSITIVE_INFINITY, apply: (x) => Math.max(...x) }],
  ["ln", logarithm("ln", Math.log)],
  ["log", logarithm("log", Math.log10)],
  ["sin", unary(Math.sin)],
  ["cos", unary(Math.cos)],
  ["tan", unary(Math.tan)],
]);

const expressionConstants: ReadonlyMap<string, number> = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
]);
