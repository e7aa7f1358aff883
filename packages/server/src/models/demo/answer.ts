import type { JsonObject } from "../../core/json.ts";
import type { DemoConversation } from "./conversation.ts";
import { readIntent } from "./intent.ts";
import { readToolRequest, type ToolRequest } from "./tool-request.ts";
import { timeZoneOf } from "./time-zone.ts";
import { sentenceOf } from "./tool-sentence.ts";

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

/**
 * Returns the same answer for the same conversation and tools. `tools` are the names of the offered tools.
 */
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
