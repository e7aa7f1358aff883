// The functions and constants of arithmetic expressions.

/** A function of an expression. `apply` returns an error message if the function has no value. */
export interface ExpressionFunction {
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
export const expressionFunctions: ReadonlyMap<string, ExpressionFunction> = new Map([
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

export const expressionConstants: ReadonlyMap<string, number> = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
]);
