// The tokenizer of arithmetic expressions.

/** An invalid expression. The message names the position, counted in characters from 1. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

export type Punctuation = "+" | "-" | "*" | "/" | "%" | "^" | "(" | ")" | ",";

export type Token =
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
export function tokenize(text: string): readonly Token[] {
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
