// A precedence-climbing (Pratt) parser that evaluates arithmetic written by a model. Written here because the
// small libraries are unmaintained or only parse, the maintained ones weigh megabytes, and nothing here may
// evaluate code.

/** An invalid expression. The message names the position, counted in characters from 1. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

/** Maximum length of an expression in characters. */
export const maximumExpressionLength = 1_000;
const maximumDepth = 100;

interface Token {
  readonly kind: "number" | "name" | "symbol" | "end";
  readonly text: string;
  readonly position: number;
}

/** The last alternative matches characters that start no token. */
const tokenPattern =
  /(?<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?<name>[a-z_]\w*)|(?<symbol>\*\*|[-−+*×·/÷%^(),])|\S/gi;

/** Other spellings of symbols. */
const spellings: ReadonlyMap<string, string> = new Map([
  ["**", "^"],
  ["−", "-"],
  ["×", "*"],
  ["·", "*"],
  ["÷", "/"],
]);

interface Operator {
  readonly precedence: number;
  readonly isRightAssociative?: true;
  compute(left: number, right: number): number;
}

const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ["+", { precedence: 1, compute: (left, right) => left + right }],
  ["-", { precedence: 1, compute: (left, right) => left - right }],
  ["*", { precedence: 2, compute: (left, right) => left * right }],
  ["/", { precedence: 2, compute: (left, right) => left / right }],
  ["%", { precedence: 2, compute: (left, right) => left % right }],
  ["^", { precedence: 4, isRightAssociative: true, compute: (left, right) => left ** right }],
]);
/** Precedence of a sign, between `*` and `^`, so that `-2^2` is -4 as in mathematics. */
const signPrecedence = 3;

/**
 * Functions of one number, except for those in `variadic`; they return an error message if they have no
 * value. Angles are in radians; `ln` is the natural logarithm, `log` the one of base 10; `round` rounds halves
 * away from zero.
 */
const functions: ReadonlyMap<string, (...numbers: number[]) => number | string> = new Map([
  ["sqrt", (x: number) => (x >= 0 ? Math.sqrt(x) : `sqrt needs a number of at least 0, not ${x}`)],
  ["abs", Math.abs],
  ["round", (x: number) => Math.sign(x) * Math.round(Math.abs(x))],
  ["floor", Math.floor],
  ["ceil", Math.ceil],
  ["min", Math.min],
  ["max", Math.max],
  ["ln", (x: number) => (x > 0 ? Math.log(x) : `ln needs a number above 0, not ${x}`)],
  ["log", (x: number) => (x > 0 ? Math.log10(x) : `log needs a number above 0, not ${x}`)],
  ["sin", Math.sin],
  ["cos", Math.cos],
  ["tan", Math.tan],
]);
const variadic: ReadonlySet<string> = new Set(["min", "max"]);

const constants: ReadonlyMap<string, number> = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
]);

/**
 * Returns the value of an arithmetic expression: decimals and scientific notation, `+ - * / % ^`,
 * parentheses, and the functions and constants above. `%` is the remainder with the sign of its left operand.
 * Integers up to 2^53 are exact; other results are rounded to 15 significant digits, so that `0.1 + 0.2` is
 * 0.3.
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
  return roundToReadable(new ExpressionReader(tokenize(text)).readAll());
}

/** @throws ExpressionError for an unknown character, and for a number beyond the range of a double. */
function tokenize(expression: string): readonly Token[] {
  return Array.from(expression.matchAll(tokenPattern), ({ 0: text, index, groups }) => {
    const position = index + 1;
    if (groups?.["name"] !== undefined) return { kind: "name", text, position };
    if (groups?.["symbol"] !== undefined) {
      return { kind: "symbol", text: spellings.get(text) ?? text, position };
    }
    if (groups?.["number"] === undefined) {
      const character = String.fromCodePoint(expression.codePointAt(index) ?? 0);
      throw new ExpressionError(`Unexpected character "${character}" at position ${position}.`);
    }
    if (Number.isFinite(Number(text))) return { kind: "number", text, position };
    throw new ExpressionError(`The number at position ${position} is too large.`);
  });
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
      const { text, position } = this.#peek();
      const operator = operators.get(text);
      if (operator === undefined || operator.precedence <= loosest) break;
      this.#next += 1;
      const right = this.#readExpression(operator.precedence - (operator.isRightAssociative ? 1 : 0));
      const isByZero = text === "^" ? left === 0 && right < 0 : (text === "/" || text === "%") && right === 0;
      if (isByZero) {
        throw new ExpressionError(`Division by zero at position ${position}.`);
      }
      left = finite(operator.compute(left, right), position);
    }
    this.#depth -= 1;
    return left;
  }

  #readOperand(): number {
    const token = this.#take();
    if (token.kind === "number") return Number(token.text);
    if (token.kind === "name") return this.#readNamed(token.text, token.position);
    if (token.text === "-") return -this.#readExpression(signPrecedence);
    if (token.text === "+") return this.#readExpression(signPrecedence);
    if (token.text !== "(") throw new ExpressionError(`Expected a number ${place(token)}.`);
    const value = this.#readExpression(0);
    this.#expectClosing(token.position);
    return value;
  }

  #readNamed(name: string, position: number): number {
    const lowerCase = name.toLowerCase();
    const constant = constants.get(lowerCase);
    if (constant !== undefined) return constant;
    const apply = functions.get(lowerCase);
    if (apply === undefined) {
      const known = [...functions.keys(), ...constants.keys()].join(", ");
      throw new ExpressionError(`Unknown name "${name}" at position ${position}. Known are ${known}.`);
    }
    const opening = this.#take();
    if (opening.text !== "(") {
      throw new ExpressionError(`Expected "(" after ${name} ${place(opening)}.`);
    }
    const numbers = this.#readArguments(opening.position);
    const isVariadic = variadic.has(lowerCase);
    if (numbers.length === 0 || (numbers.length > 1 && !isVariadic)) {
      const wanted = isVariadic ? "at least one number" : "one number";
      throw new ExpressionError(`${name} at position ${position} takes ${wanted}, not ${numbers.length}.`);
    }
    const value = apply(...numbers);
    if (typeof value === "string") throw new ExpressionError(`No value at position ${position}: ${value}.`);
    return finite(value, position);
  }

  #readArguments(openingPosition: number): readonly number[] {
    const numbers: number[] = [];
    if (this.#peek().text !== ")") {
      numbers.push(this.#readExpression(0));
      while (this.#peek().text === ",") {
        this.#next += 1;
        numbers.push(this.#readExpression(0));
      }
    }
    this.#expectClosing(openingPosition);
    return numbers;
  }

  #expectClosing(openingPosition: number): void {
    const token = this.#take();
    if (token.text === ")") return;
    throw new ExpressionError(`The "(" at position ${openingPosition} is not closed ${place(token)}.`);
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? { kind: "end", text: "", position: 0 };
  }

  #take(): Token {
    const token = this.#peek();
    this.#next += 1;
    return token;
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
