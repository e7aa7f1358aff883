// Finds the expression in a question such as "what is 12 * 7?", in the calculator's notation.

/** Longer messages are taken for prose; the calculator takes no more either. */
const maximumLength = 1_000;

const openings = [
  /^(?:hi|hello|hey|ok|okay|so|and|now|then|well|please)\b[\s,!.:]*/i,
  /^(?:can|could|would|will) you\s+(?:please\s+)?(?:tell me\s+)?/i,
  /^tell me\s+/i,
  /^(?:what(?:['’]s|\s+is|\s+are)|how much (?:is|are)|calculate|compute|evaluate|solve|work out)\b[\s:]*/i,
  /^the (?:value|result) of\s+/i,
];
const closingMarks = new Set(" ?!.=");
const closingWords = /\b(?:please|equals?(?: to)?)$/i;

const spokenOperators: ReadonlyArray<readonly [RegExp, string]> = [
  [/\s+plus\s+/gi, " + "],
  [/\s+minus\s+/gi, " - "],
  [/\s+(?:times|multiplied by)\s+/gi, " * "],
  [/\s+(?:divided by|over)\s+/gi, " / "],
  [/\s+mod(?:ulo)?\s+/gi, " % "],
  [/\s+(?:raised )?to the power of\s+/gi, " ^ "],
  [/\s+squared\b/gi, "^2"],
  [/\s+cubed\b/gi, "^3"],
  [/\b(?:the )?square root of\s+([\d.]+)/gi, "sqrt($1)"],
  [/(?<=\d)\s*x\s*(?=\d)/gi, " * "],
];

/**
 * What an expression is made of: numbers, names that are called, pi and e, operators. Taken away piece by piece rather than matched
 * as a whole: repeated alternatives that can match the same text try all combinations when a message is none.
 */
const pieces = /\d[\d.]*(?:e[+-]?\d+)?|\b[a-z_]\w*\b(?=\s*\()|\b(?:pi|e)\b|[\s.,+\-*/%^()×÷·−]/gi;
const operandPattern = /\d|\b(?:pi|e)\b/i;
const operationPattern = /[+\-*/%^×÷·−]|\w\s*\(/;
const datePattern = /^\d{4}-\d{1,2}-\d{1,2}$/;

/**
 * The expression that a message asks to be computed; `null` when it asks something else.
 *
 * @param message with single spaces for all white space
 */
export function findExpression(message: string): string | null {
  if (message.length > maximumLength) return null;
  let text = message;
  for (const opening of openings) text = text.replace(opening, "");
  text = withoutClosingMarks(withoutClosingMarks(text).replace(closingWords, ""));
  for (const [spoken, written] of spokenOperators) text = text.replace(spoken, written);
  // Thousands separators; where something is called, a comma separates arguments.
  if (!/[a-z]/i.test(text)) text = text.replace(/(?<=\d),(?=\d{3}(?!\d))/g, "");
  const isExpression =
    text.replace(pieces, "") === "" &&
    operandPattern.test(text) &&
    operationPattern.test(text) &&
    !datePattern.test(text);
  return isExpression ? text : null;
}

/** A loop, because `[ ?!.=]+$` looks through every row of marks in a message once for each of them. */
function withoutClosingMarks(text: string): string {
  let end = text.length;
  while (end > 0 && closingMarks.has(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
