import type { JSONValue, LanguageModelV4ToolResultPart, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { type JsonObject, isJsonObject } from "../core/json.ts";
import { readIntent } from "./demo-intent.ts";

/** The demo model's reaction to a prompt. */
export type DemoAnswer =
  | ({ readonly kind: "text"; readonly text: string } & DemoExtras)
  /** `call` ends a step that is not the last one. */
  | { readonly kind: "count"; readonly from: number; readonly to: number; readonly call: DemoCall | null }
  | ({ readonly kind: "tool-call" } & DemoCall);

interface DemoExtras {
  /** Reasoning before the text. */
  readonly reasoning?: string;
  /** A web page after the text. */
  readonly source?: { readonly url: string; readonly title: string };
}

interface DemoCall {
  readonly tool: string;
  readonly input: JsonObject;
}

/** Maximum number to count to: over eight minutes at twenty per second, within a turn's limit of ten. */
const maximumCount = 10_000;
/** Maximum steps of one count. A step has at least the numbers of a second. */
const maximumCountSteps = 15;
const minimumStepNumbers = 20;
const countTool = "continue_counting";
const approvalTool = "order_tea";

/** Example requests for the introduction, with the tools that they need. */
const suggestions = [
  { text: '"what time is it in Tokyo?"', tool: "current_time" },
  { text: '"what is 12 * 7?"', tool: "calculator" },
  { text: '"count to 20"', tool: null },
  { text: '"order tea"', tool: approvalTool },
] as const;

function introduction(tools: ReadonlySet<string>): string {
  const possible = suggestions.filter(({ tool }) => tool === null || tools.has(tool));
  return (
    "Hello! I am demo/assistant, the demo model that comes with Colloquy. I need no key and no network, and I always answer " +
    `the same. Ask me ${possible.map(({ text }) => text).join(", ")} or "what tools do you have?".`
  );
}

/**
 * Returns the same answer for the same conversation, tools and `maxSteps`. `tools` are the names of the offered
 * tools.
 */
export function answerTo(
  conversation: DemoConversation,
  tools: ReadonlySet<string>,
  maxSteps: number,
): DemoAnswer {
  const { firstMessage, lastMessage, results } = conversation;
  const next = nextNumber(results);
  if (next !== null && lastMessage !== null) {
    const intent = readIntent(lastMessage);
    if (intent.kind === "count") return countTo(intent.to, next, tools, maxSteps);
  }
  if (results.length > 0) return say(results.map(sentenceOf).join(" "));
  if (lastMessage === null) return say(introduction(tools));
  const request = readToolRequest(lastMessage);
  if (request !== null) return callRequested(request, tools);
  const intent = readIntent(lastMessage);
  switch (intent.kind) {
    case "introduction":
      return say(introduction(tools));
    case "first-message":
      return say(`The first thing you said was:${quoted(firstMessage ?? lastMessage)}`);
    case "reasoning":
      return {
        kind: "text",
        text: `I have thought about ${intent.subject}. It is what you asked me to think about.`,
        reasoning: `The user wants me to think about ${intent.subject}. I am the demo model, so this is all that I can think.`,
      };
    case "source":
      return { kind: "text", text: "My source is a page of examples.", source: exampleSource };
    case "count":
      return countTo(intent.to, 1, tools, maxSteps);
    case "tools":
      return say(listTools(tools));
    case "approval":
      return tools.has(approvalTool)
        ? { kind: "tool-call", tool: approvalTool, input: { cups: intent.cups } }
        : say(
            `I would ask the tool ${approvalTool} for that, but only an App without a configuration has it. ` +
              "In other Apps, list the tools that need approval in approvals.",
          );
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
        `I am the demo model, so all I can do with this is to repeat it. You said:${quoted(lastMessage)}`,
      );
  }
}

const exampleSource = { url: "https://example.com/", title: "Example Domain" };

/** Separates text of several lines, because quotation marks would change its Markdown. */
function quoted(text: string): string {
  return text.includes("\n") ? `\n\n${text}` : ` "${text}"`;
}

function say(text: string): DemoAnswer {
  return { kind: "text", text };
}

/** Returns the step that begins with `from`. All steps but the last have one size. */
function countTo(written: string, from: number, tools: ReadonlySet<string>, maxSteps: number): DemoAnswer {
  const to = Number(written.replace(/[,_]/g, ""));
  if (Number.isInteger(to) && to >= 1 && to <= maximumCount) {
    const most = tools.has(countTool) ? Math.max(1, Math.min(maximumCountSteps, maxSteps - 1)) : 1;
    const steps = Math.min(most, Math.ceil(to / minimumStepNumbers));
    const next = from + Math.ceil(to / steps);
    if (next > to) return { kind: "count", from, to, call: null };
    return { kind: "count", from, to: next - 1, call: { tool: countTool, input: { next } } };
  }
  return say(`I count from 1, by whole numbers, and to at most ${maximumCount}: not to ${written}.`);
}

/** Returns the number after a finished step of a count; `null` for other results. */
function nextNumber(results: DemoConversation["results"]): number | null {
  const [result] = results;
  if (result?.toolName !== countTool || result.output.type !== "json") return null;
  const next = isJsonObject(result.output.value) ? result.output.value["next"] : null;
  return typeof next === "number" ? next : null;
}

function listTools(tools: ReadonlySet<string>): string {
  if (tools.size === 0) return "I have no tools here. The App's configuration can give me some.";
  return `My tools here: ${[...tools].join(", ")}. Write "call NAME {json}" to try one.`;
}

function callRequested({ tool, input }: ToolRequest, tools: ReadonlySet<string>): DemoAnswer {
  if (!tools.has(tool)) return say(`There is no tool ${tool} here. ${listTools(tools)}`);
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

/**
 * Returns the requested tool and input; `null` if the message requests no tool. Whether the tool is offered
 * does not matter.
 */
export function readToolRequest(message: string): ToolRequest | null {
  const [, tool, written] = requestPattern.exec(message.trim()) ?? [];
  if (tool === undefined) return null;
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
      // Each part is a message; those before the last one had no answer.
      const texts = message.content.map((part) => (part.type === "text" ? part.text : ""));
      lastMessage = texts.at(-1) ?? "";
      firstMessage ??= texts[0] ?? "";
      results = [];
    } else if (message.role === "tool") {
      results = message.content.filter((part) => part.type === "tool-result");
    }
  }
  return { firstMessage, lastMessage, results };
}
