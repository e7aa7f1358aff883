import { findExpression } from "./arithmetic.ts";

/** What a message asks the demo model to do (contract section 4). */
export type DemoIntent =
  | { readonly kind: "introduction" }
  | { readonly kind: "first-message" }
  /** `to` is the number as written. */
  | { readonly kind: "count"; readonly to: string }
  | { readonly kind: "time"; readonly place: string | null }
  | { readonly kind: "arithmetic"; readonly expression: string }
  | { readonly kind: "other" };

/** Longer messages are treated as prose and quoted. */
const maximumQuestionLength = 1_000;
const maximumPlaceLength = 120;

const countPattern = /\bcount\s+(?:up\s+)?(?:from\s+(?:1|one)\s+)?to\s+(-?\d[\d,_.]*)/i;
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
  const count = countPattern.exec(text)?.[1];
  if (count !== undefined) return { kind: "count", to: count.replace(/[,_.]+$/, "") };
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
