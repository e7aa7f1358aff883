// A precedence-climbing (Pratt) parser that evaluates arithmetic written by a model. Own code: the small
// libraries are unmaintained or only parse, the maintained ones weigh megabytes, and nothing here may
// evaluate code.

import { expressionConstants, expressionFunctions } from "./expression-functions.ts";
import { ExpressionError, type Punctuation, type Token, tokenize } from "./expression-tokens.ts";

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
 * parentheses, and the functions and constants of expression-functions.ts. `%` is the remainder with the sign
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
