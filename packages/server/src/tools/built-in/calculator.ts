import { isJsonObject } from "../../core/json.ts";
import type { Tool } from "../../core/ports/driven/tool.ts";
import { evaluateExpression, maximumExpressionLength } from "./expression.ts";

/**
 * Evaluates arithmetic. Returns `{expression, result}`, or fails with a message that names error and
 * position.
 */
export const calculator: Tool = {
  name: "calculator",
  description:
    "Computes an arithmetic expression exactly as written: numbers, + - * / % (remainder) ^ (power), parentheses, " +
    "sqrt abs round floor ceil min max ln log (base 10) sin cos tan (radians), pi and e.",
  inputSchema: {
    type: "object",
    properties: {
      expression: {
        type: "string",
        description: 'The expression, for instance "12 * (7 + 0.5)^2".',
        minLength: 1,
        maxLength: maximumExpressionLength,
      },
    },
    required: ["expression"],
    additionalProperties: false,
  },
  effect: "read",
  async execute(input) {
    const expression = isJsonObject(input) ? input["expression"] : undefined;
    if (typeof expression !== "string") {
      throw new TypeError('Give the expression as text: {"expression": "12 * 7"}.');
    }
    return { expression, result: evaluateExpression(expression) };
  },
};
