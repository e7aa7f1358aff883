// Recognizes requests to the demo model.

/** A request to the demo model (contract section 4). */
export type DemoIntent =
  | { readonly kind: "introduction" }
  | { readonly kind: "first-message" }
  /** A request to show reasoning about a subject, or a source. */
  | { readonly kind: "reasoning"; readonly subject: string }
  | { readonly kind: "source" }
  /** `to` is the number as written. */
  | { readonly kind: "count"; readonly to: string }
  | { readonly kind: "tools" }
  /** A request for the tool that needs approval. */
  | { readonly kind: "approval"; readonly cups: number }
  | { readonly kind: "time"; readonly place: string | null }
  | { readonly kind: "arithmetic"; readonly expression: string }
  | { readonly kind: "other" };

/**
 * Maximum length of a question, and the calculator's limit. Longer messages count as prose and are quoted.
 */
const maximumQuestionLength = 1_000;
const maximumPlaceLength = 120;

const countPattern = /\bcount\s+(?:up\s+)?(?:from\s+(?:1|one)\s+)?to\s+(-?\d[\d,_.]*)/i;
const reasoningPattern = /^(?:please\s+)?think\s+(?:about|of)\s+(.+?)[\s.!?]*$/i;
const sourcePattern =
  /^(?:please\s+)?(?:cite|name|show)\s+(?:me\s+)?(?:(?:a|some|the|your)\s+)?sources?[\s.!?]*$/i;
const toolsPattern =
  /\b(?:what|which)\s+tools\b|\b(?:list|show|what\s+are)\s+(?:me\s+)?(?:all\s+)?(?:(?:your|the)\s+)?(?:available\s+)?tools\b/i;
const approvalPattern =
  /^(?:please\s+)?order\s+(?:me\s+)?(?:(\d{1,2})\s+|an?\s+|some\s+)?(?:(?:cups?|mugs?|pots?)\s+of\s+)?tea\b/i;
const timePattern =
  /\bwhat\s+time\b|\b(?:the|current|local)\s+time\b|\btime\s+is\s+it\b|\b(?:what|which)\s+(?:day|date)\s+is\b|\bwhat(?:['’]s|\s+is)\s+(?:the|today['’]s)\s+date\b/i;
const placePattern = /\b(?:in|at|for)\s+([^?!,;]+)/i;
const placeEnding = /(?:\s+(?:right\s+now|now|today|currently|at\s+the\s+moment|please))+$|[\s.]+$/gi;
const greetingPattern =
  /^(?:hi|hello|hey|hiya|howdy|greetings|welcome|good\s+(?:morning|afternoon|evening|day)|hallo|salut|hola|ciao)(?:[\s,]+(?:there|all|everyone|world|again|you|friend|bot|demo|assistant|colloquy))*[\s.!?]*$/i;
const identityPattern = /\b(?:who|what)\s+are\s+you\b|^help[\s.!?]*$/i;

/** Returns the first intent that matches, from the rarest to the most common. */
export function readIntent(message: string): DemoIntent {
  const text = message.trim().replace(/\s+/g, " ");
  if (text.length > maximumQuestionLength) return { kind: "other" };
  if (asksForFirstMessage(text)) return { kind: "first-message" };
  const subject = reasoningPattern.exec(text)?.[1];
  if (subject !== undefined) return { kind: "reasoning", subject };
  if (sourcePattern.test(text)) return { kind: "source" };
  const count = countPattern.exec(text)?.[1];
  if (count !== undefined) return { kind: "count", to: count.replace(/[,_.]+$/, "") };
  if (toolsPattern.test(text)) return { kind: "tools" };
  const order = approvalPattern.exec(text);
  if (order !== null) return { kind: "approval", cups: Math.max(1, Number(order[1] ?? 1)) };
  const time = timePattern.exec(text);
  if (time !== null) return { kind: "time", place: findPlace(text.slice(time.index)) };
  const expression = findExpression(text);
  if (expression !== null) return { kind: "arithmetic", expression };
  if (greetingPattern.test(text) || identityPattern.test(text)) return { kind: "introduction" };
  return { kind: "other" };
}

function asksForFirstMessage(text: string): boolean {
  return (
    /\bwhat\b/i.test(text) &&
    /\bfirst\b/i.test(text) &&
    /\b(?:I|my)\b/i.test(text) &&
    /\b(?:say|said|write|wrote|ask|asked|tell|told|message|words?|question)\b/i.test(text)
  );
}

function findPlace(text: string): string | null {
  const rest = placePattern.exec(text)?.[1] ?? "";
  if (rest.length > maximumPlaceLength) return null;
  const place = rest.replace(placeEnding, "").trim();
  return place === "" ? null : place;
}

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
 * The tokens of an expression: numbers, function names, pi and e, operators. Tokens are removed one by one,
 * because one pattern of repeated alternatives would backtrack exponentially on other messages.
 */
const pieces = /\d[\d.]*(?:e[+-]?\d+)?|\b[a-z_]\w*\b(?=\s*\()|\b(?:pi|e)\b|[\s.,+\-*/%^()×÷·−]/gi;
const operandPattern = /\d|\b(?:pi|e)\b/i;
const operationPattern = /[+\-*/%^×÷·−]|\w\s*\(/;
const datePattern = /^\d{4}-\d{1,2}-\d{1,2}$/;

/** Returns the expression that a message asks to compute, or `null`. Runs of white space must be single spaces. */
function findExpression(message: string): string | null {
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
