// Extracts the expression from a question such as "what is 12 * 7?", in the calculator's notation.

/** Longer messages are treated as prose; it is also the calculator's limit. */
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
 * The tokens of an expression: numbers, function names, pi and e, operators. They are removed one by one:
 * matching all of them with one pattern of repeated alternatives would backtrack exponentially on other
 * messages.
 */
const pieces = /\d[\d.]*(?:e[+-]?\d+)?|\b[a-z_]\w*\b(?=\s*\()|\b(?:pi|e)\b|[\s.,+\-*/%^()×÷·−]/gi;
const operandPattern = /\d|\b(?:pi|e)\b/i;
const operationPattern = /[+\-*/%^×÷·−]|\w\s*\(/;
const datePattern = /^\d{4}-\d{1,2}-\d{1,2}$/;

/**
 * Returns the expression that a message asks to compute, or `null` if there is none.
 *
 * @param message the message, with each run of white space replaced by one space
 */
export function findExpression(message: string): string | null {
  if (message.length > maximumLength) return null;
  let text = message;
  for (const opening of openings) text = text.replace(opening, "");
  text = withoutClosingMarks(withoutClosingMarks(text).replace(closingWords, ""));
  for (const [spoken, written] of spokenOperators) text = text.replace(spoken, written);
  // Remove thousands separators. In a function call, a comma separates arguments.
  if (!/[a-z]/i.test(text)) text = text.replace(/(?<=\d),(?=\d{3}(?!\d))/g, "");
  const isExpression =
    text.replace(pieces, "") === "" &&
    operandPattern.test(text) &&
    operationPattern.test(text) &&
    !datePattern.test(text);
  return isExpression ? text : null;
}

/** Uses a loop, because `[ ?!.=]+$` takes quadratic time on long runs of marks. */
function withoutClosingMarks(text: string): string {
  let end = text.length;
  while (end > 0 && closingMarks.has(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
