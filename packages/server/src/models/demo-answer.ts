import type { JSONValue, LanguageModelV4ToolResultPart, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { type JsonObject, isJsonObject } from "../core/json.ts";

/** The demo model's reaction to a prompt. */
export type DemoAnswer =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "count"; readonly to: number }
  | { readonly kind: "tool-call"; readonly tool: string; readonly input: JsonObject };

/** Over eight minutes at twenty per second, within a turn's limit of ten. */
const maximumCount = 10_000;

const introduction =
  "Hello! I am demo/assistant, the demo model that comes with Colloquy. I need no key and no network, and I always answer " +
  'the same. Ask me "what time is it in Tokyo?", "what is 12 * 7?", "count to 20" or "what did I say first?".';

/** Returns the same answer for the same conversation and tools. `tools` are the names of the offered tools. */
export function answerTo(conversation: DemoConversation, tools: ReadonlySet<string>): DemoAnswer {
  const { firstMessage, lastMessage, results } = conversation;
  if (results.length > 0) return say(results.map(sentenceOf).join(" "));
  if (lastMessage === null) return say(introduction);
  const request = readToolRequest(lastMessage, tools);
  if (request !== null) return callRequested(request);
  const intent = readIntent(lastMessage);
  switch (intent.kind) {
    case "introduction":
      return say(introduction);
    case "first-message":
      return say(`The first thing you said was: "${firstMessage ?? lastMessage}"`);
    case "count":
      return countTo(intent.to);
    case "time":
      return callTool(
        "current_time",
        intent.place === null ? {} : { timezone: timeZoneOf(intent.place) },
        tools,
      );
    case "arithmetic":
      return callTool("calculator", { expression: intent.expression }, tools);
    case "other":
      return say(
        `I am the demo model, so all I can do with this is to repeat it. You said: "${lastMessage}"`,
      );
  }
}

function say(text: string): DemoAnswer {
  return { kind: "text", text };
}

function countTo(written: string): DemoAnswer {
  const to = Number(written.replace(/[,_]/g, ""));
  if (Number.isInteger(to) && to >= 1 && to <= maximumCount) return { kind: "count", to };
  return say(`I count from 1, by whole numbers, and to at most ${maximumCount}: not to ${written}.`);
}

function callRequested({ tool, input }: ToolRequest): DemoAnswer {
  if (input !== null) return { kind: "tool-call", tool, input };
  return say(`I would call ${tool}, but what follows its name is not a JSON object, such as {"id": 7}.`);
}

function callTool(
  tool: string,
  input: Readonly<Record<string, string>>,
  tools: ReadonlySet<string>,
): DemoAnswer {
  if (tools.has(tool)) return { kind: "tool-call", tool, input };
  return say(`I would ask the tool ${tool} for that, but it is not among the tools that I may use here.`);
}

/** An explicit tool request such as `call lookup_order {"id": 7}`, to try out tools without a real model. */
interface ToolRequest {
  readonly tool: string;
  /** `null` if the text after the name is not a JSON object. */
  readonly input: JsonObject | null;
}

const requestPattern =
  /^(?:please\s+)?(?:call|use|run)\s+(?:the\s+tool\s+)?([a-zA-Z0-9_-]{1,64})(?:\s+with)?(?:\s+(\{.*\}))?[\s.!]*$/is;

/** Returns `null` unless the message names an offered tool; other messages are quoted. */
export function readToolRequest(message: string, tools: ReadonlySet<string>): ToolRequest | null {
  const [, tool, written] = requestPattern.exec(message.trim()) ?? [];
  if (tool === undefined || !tools.has(tool)) return null;
  return { tool, input: written === undefined ? {} : readObject(written) };
}

function readObject(written: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(written);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Phrases a tool result as a sentence. */
function sentenceOf(result: LanguageModelV4ToolResultPart): string {
  const { toolName, output } = result;
  switch (output.type) {
    case "error-text":
    case "error-json":
      return endSentence(`The tool ${toolName} reported an error: ${textOf(output.value)}`);
    case "execution-denied":
      return endSentence(
        `The tool ${toolName} was not allowed to run: ${output.reason ?? "no reason was given"}`,
      );
    case "content": {
      const texts = output.value.map((part) => (part.type === "text" ? part.text : `(${part.type})`));
      return endSentence(`The tool ${toolName} answered: ${texts.join(" ")}`);
    }
    case "text":
    case "json":
      return sentenceOfValue(toolName, output.value);
  }
}

function sentenceOfValue(toolName: string, value: JSONValue): string {
  const fields: Readonly<Record<string, unknown>> = isJsonObject(value) ? value : {};
  const field = (name: string): string | null => {
    const found = fields[name];
    return typeof found === "string" || typeof found === "number" ? String(found) : null;
  };
  const [date, time, weekday, timezone] = ["date", "time", "weekday", "timezone"].map(field);
  if (toolName === "current_time" && date && time && weekday && timezone) {
    return `It is ${time} on ${weekday}, ${date} (${timezone}).`;
  }
  const [expression, result] = ["expression", "result"].map(field);
  if (toolName === "calculator" && expression && result) return `${expression} = ${result}.`;
  return endSentence(`The tool ${toolName} answered: ${textOf(value)}`);
}

function textOf(value: JSONValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function endSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const regions = [
  "Europe",
  "America",
  "Asia",
  "Africa",
  "Australia",
  "Pacific",
  "Atlantic",
  "Indian",
  "Antarctica",
  "Arctic",
  "America/Argentina",
  "America/Indiana",
  "America/Kentucky",
  "America/North_Dakota",
];

/** Returns the IANA time zone of a place ("Tokyo" is Asia/Tokyo); zone names and unknown places unchanged. */
export function timeZoneOf(place: string): string {
  if (isTimeZone(place)) return place;
  const city = place
    .normalize("NFD")
    .replace(/[\p{Mark}.'’]/gu, "")
    .trim()
    .split(/\s+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("_");
  const region = regions.find((candidate) => isTimeZone(`${candidate}/${city}`));
  return region === undefined ? place : `${region}/${city}`;
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** The parts of a prompt that the demo model uses; it ignores instructions and its own earlier answers. */
interface DemoConversation {
  /** The session's first user message; `null` if there is none. */
  readonly firstMessage: string | null;
  /** The message to answer. */
  readonly lastMessage: string | null;
  /** Results of the tools called for `lastMessage`; empty before the first call. */
  readonly results: readonly LanguageModelV4ToolResultPart[];
}

export function readConversation(prompt: LanguageModelV4Prompt): DemoConversation {
  let firstMessage: string | null = null;
  let lastMessage: string | null = null;
  let results: readonly LanguageModelV4ToolResultPart[] = [];
  for (const message of prompt) {
    if (message.role === "user") {
      lastMessage = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
      firstMessage ??= lastMessage;
      results = [];
    } else if (message.role === "tool") {
      results = message.content.filter((part) => part.type === "tool-result");
    }
  }
  return { firstMessage, lastMessage, results };
}

/** What a message asks the demo model to do (contract section 4). */
export type DemoIntent =
  | { readonly kind: "introduction" }
  | { readonly kind: "first-message" }
  /** `to` is the number as written. */
  | { readonly kind: "count"; readonly to: string }
  | { readonly kind: "time"; readonly place: string | null }
  | { readonly kind: "arithmetic"; readonly expression: string }
  | { readonly kind: "other" };

/** Longer messages are treated as prose and quoted. It is also the calculator's limit. */
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
